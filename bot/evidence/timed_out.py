"""What a time-out before the change says, which is nothing while the agent's own commands ran beside it.

Pure. So what timed out then is tried once more at the end, when nothing of the agent's is alive; what times out even so
is known to, and all else is not known.
"""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.outcome import CheckState
from bot.evidence.ran import Ran

IN_PEACE = "it timed out again when nothing else of the run was running"
NOT_TRIED = "whether it would have ended with nothing else running is not known"
_LEAST = 60.0
_TIMES = 5


def is_to_be_tried_again(before: Ran, after: Ran) -> bool:
    """Whether the time-out would otherwise make a difference between the two sides."""
    return before.run.state is CheckState.TIMED_OUT and after.run.state not in (
        CheckState.TIMED_OUT,
        CheckState.NOT_RUN,
    )


def limit_of(timeout: float, after: Ran) -> float:
    """Seconds for the second try: enough to tell it from what takes as long as with the change."""
    return min(timeout, max(_TIMES * after.run.duration, _LEAST))


def tried_again(first: Ran, second: Ran | None) -> Ran:
    """What the base is said to do; `second` is `None` where there was no time for it."""
    if second is not None and second.run.state not in (CheckState.TIMED_OUT, CheckState.NOT_RUN):
        return second
    known = second is not None and second.run.state is CheckState.TIMED_OUT
    note = "; ".join(filter(None, [first.run.note, IN_PEACE if known else NOT_TRIED]))
    return replace(first, run=replace(first.run, note=note))

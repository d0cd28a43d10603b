"""What timed out or failed on the base while the agent was at work, once more when no command of its is alive."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.evidence.detect import Check
from bot.evidence.mended import NOT_ASKED, TOGETHER, TOO_LONG, asked_again, doubted, is_to_be_asked_again
from bot.evidence.ran import Ran
from bot.evidence.timed_out import is_to_be_tried_again, limit_of, tried_again
from bot.run.checks import Wanted, run_checks
from bot.run.trees import Trees

if TYPE_CHECKING:
    from bot.run.inspection import Inspection

Say = Callable[[str], None]


def checkers_in_peace(
    inspection: Inspection, tree_sha: str, trees: Trees, cancel: CancelToken, say: Say
) -> None:
    """Those that timed out or that the change turns out to concern. Where no workshop can be had it stays as it is."""
    say(f"run on the base, since there was no answer before: {', '.join(inspection.late(tree_sha))}")
    try:
        with trees.for_checks("checkers-in-peace", cancel) as workshop:
            inspection.look_again(workshop, tree_sha)
    except AgentError as error:
        say(f"the checkers could not be run again: {error}")


def checks_in_peace(
    checks: Sequence[Check], before: Sequence[Ran], after: Sequence[Ran], trees: Trees, cancel: CancelToken,
    left: Callable[[], float], say: Say, origin: str = "",
) -> dict[int, Ran]:  # fmt: skip
    """What the base is said to do of those that timed out on it and not with the change, by their number. `left` is
    the seconds that may still be spent."""
    found: dict[int, Ran] = {}
    for number, check in enumerate(checks):
        if not is_to_be_tried_again(before[number], after[number]) or cancel.fired:
            continue
        limit = limit_of(check.timeout, after[number])
        second = None
        if left() >= limit:
            say(f"running again on the base, since it timed out there: {check.command}")
            second = _on_base(number, check, trees, cancel, say, origin, limit)
        found[number] = tried_again(before[number], second)
    return found


def failures_in_peace(
    checks: Sequence[Check], before: Sequence[Ran], after: Sequence[Ran], changed: Collection[str], trees: Trees,
    cancel: CancelToken, left: Callable[[], float], say: Say, origin: str = "", together: float = TOGETHER,
) -> dict[int, Ran]:  # fmt: skip
    """What the base is said to do of those that failed on it and pass with the change, and do not say why: see
    `bot/evidence/mended.py`. `together` is in seconds, for all of them."""
    found: dict[int, Ran] = {}
    until = time.monotonic() + together
    for number, check in enumerate(checks):
        if not is_to_be_asked_again(before[number], after[number], changed) or cancel.fired:
            continue
        limit = min(until - time.monotonic(), left(), check.timeout)
        if before[number].run.duration > limit:
            found[number] = doubted(
                before[number], TOO_LONG if before[number].run.duration > together else NOT_ASKED
            )
            continue
        say(f"running again on the base, since it failed there: {check.command}")
        found[number] = asked_again(
            before[number], _on_base(number, check, trees, cancel, say, origin, limit)
        )
    return found


def _on_base(
    number: int, check: Check, trees: Trees, cancel: CancelToken, say: Say, origin: str, limit: float
) -> Ran | None:
    """`None` where no workshop can be had."""
    try:
        with trees.for_checks(f"checks-in-peace-{number + 1}", cancel) as workshop:
            [ran] = run_checks(workshop, [check], cancel, origin, Wanted(limit=limit))
            return ran
    except AgentError as error:
        say(f"it could not be run again: {error}")
        return None

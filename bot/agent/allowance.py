"""How much of a run's limits is used, and what the model is told of it before one of them ends the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.agent.spent import Spent
from bot.contracts.limits import Limits

_TOLD_AT = (0.80, 0.90, 0.95)
_MIB = 1024 * 1024


class Share(NamedTuple):
    """How far one limit is used, from 0 on, and that in words: "4.10 of 5.00 USD"."""

    used: float
    words: str


def shares(limits: Limits, spent: Spent, seconds: float) -> tuple[Share, ...]:
    """One for each limit that there is; `seconds` is how long the run has taken."""
    found: list[Share] = []

    def add(used: float, limit: float | None, words: str) -> None:
        if limit is not None:
            found.append(Share(used / limit if limit > 0 else 1.0, words))

    add(spent.cost, limits.cost_usd, f"{spent.cost:.2f} of {limits.cost_usd or 0:.2f} USD")
    add(spent.usage.total, limits.tokens, f"{spent.usage.total} of {limits.tokens} tokens")
    add(spent.requests, limits.turns, f"{spent.requests} of {limits.turns} turns")
    add(seconds / 60, limits.minutes, f"{seconds / 60:.0f} of {limits.minutes or 0:g} minutes")
    add(spent.commands, limits.commands, f"{spent.commands} of {limits.commands} commands")
    printed = f"{spent.output / _MIB:.1f} of {(limits.output or 0) / _MIB:g} MiB of output"
    add(spent.output, limits.output, printed)
    return tuple(found)


class Told:
    """Remembers what the model was told, so that each step is said once."""

    def __init__(self) -> None:
        self._step = 0.0

    def due(self, now: Sequence[Share]) -> str:
        """What is said after a turn's results: at 80, 90 and 95 % of whichever limit is nearest; mostly nothing."""
        nearest = max((share.used for share in now), default=0.0)
        step = max((step for step in _TOLD_AT if nearest >= step), default=0.0)
        if step <= self._step:
            return ""
        self._step = step
        near = ", ".join(share.words for share in now if share.used >= _TOLD_AT[0])
        return (
            f"(Used so far: {near}. At the limit the run ends with what is in the work tree. {_ADVICE[step]})"
        )


_ADVICE = {
    0.80: "Begin nothing new that is not needed.",
    0.90: "Finish what you have begun, and see that the tree is in a state that can be kept.",
    0.95: "Come to an end now, and hand over what you have.",
}

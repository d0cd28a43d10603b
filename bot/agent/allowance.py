"""How much of a run's limits is used, and what the model is told of it before one of them ends the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.agent.spent import Spent
from bot.contracts.limits import Limits
from bot.contracts.wording import money

_TOLD_AT = (0.80, 0.90, 0.95)
_MIB = 1024 * 1024


class Share(NamedTuple):
    """How far one limit is used, from 0 on, and that in words: "$4.10 of $5.00"; `limit` names it."""

    limit: str
    used: float
    words: str


def shares(limits: Limits, spent: Spent, seconds: float) -> tuple[Share, ...]:
    """One for each limit that there is; `seconds` is how long the run has taken."""
    found: list[Share] = []

    def add(name: str, used: float, limit: float | None, words: str) -> None:
        if limit is not None:
            found.append(Share(name, used / limit if limit > 0 else 1.0, words))

    most, time = limits.cost_usd or 0, limits.minutes or 0
    places = 2 if most >= 1 else 4
    add("usd", spent.cost, limits.cost_usd, f"{money(spent.cost, places)} of {money(most, places)}")
    add("tokens", spent.usage.total, limits.tokens, f"{spent.usage.total} of {limits.tokens} tokens")
    add("turns", spent.requests, limits.turns, f"{spent.requests} of {limits.turns} turns")
    add("minutes", seconds / 60, limits.minutes, f"{seconds / 60:.1f} of {time:g} minutes")
    add("commands", spent.commands, limits.commands, f"{spent.commands} of {limits.commands} commands")
    printed = f"{spent.output / _MIB:.1f} of {(limits.output or 0) / _MIB:g} MiB of output"
    add("output", spent.output, limits.output, printed)
    return tuple(found)


class Told:
    """Remembers what one conversation was told, so that each step of each limit is said once."""

    def __init__(self) -> None:
        self._steps: dict[str, float] = {}

    def due(self, now: Sequence[Share]) -> str:
        """What is said after a turn's results, where a limit has come to 80, 90 or 95 %; mostly nothing."""
        steps = {share.limit: _step(share) for share in now}
        further = [step for limit, step in steps.items() if step > self._steps.get(limit, 0.0)]
        if not further:
            return ""
        self._steps.update(steps)
        near = ", ".join(share.words for share in now if share.used >= _TOLD_AT[0])
        advice = _ADVICE[max(steps.values())]
        return f"(Used so far: {near}. At the limit the run ends with what is in the work tree. {advice})"


def _step(share: Share) -> float:
    """The last one that was come to."""
    return max((step for step in _TOLD_AT if share.used >= step), default=0.0)


_ADVICE = {
    0.80: "Begin nothing new that is not needed.",
    0.90: "Finish what you have begun, and see that the tree is in a state that can be kept.",
    0.95: "Come to an end now, and hand over what you have.",
}

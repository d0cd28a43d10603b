"""What a conversation and its subagents used, its share of each limit, and the reminders to the model before a limit
ends the run (S-120)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.contracts.formatting import money
from bot.contracts.messages import Usage
from bot.contracts.request import RunLimits


class SessionUsage:
    """Requests, tokens, USD, commands, and the commands' output in bytes."""

    def __init__(self) -> None:
        self.requests = 0
        self.usage = Usage()
        self.cost = 0.0
        self.commands = 0
        self.output = 0

    def add(self, usage: Usage, cost: float) -> None:
        self.usage += usage
        self.cost += cost

    def count_command(self, size: int) -> None:
        """Count a command that printed `size` bytes."""
        self.commands += 1
        self.output += size


_REMINDER_SHARES = (0.80, 0.90, 0.95)
_MIB = 1024 * 1024


class LimitShare(NamedTuple):
    """The used share of one limit, from 0 on, and its text: "$4.10 of $5.00"."""

    limit: str
    used: float
    words: str


def limit_shares(limits: RunLimits, usage: SessionUsage, seconds: float) -> tuple[LimitShare, ...]:
    """Return the share of each limit that is set; `seconds` is the run's duration so far."""
    shares: list[LimitShare] = []

    def add(name: str, used: float, limit: float | None, words: str) -> None:
        if limit is not None:
            shares.append(LimitShare(name, used / limit if limit > 0 else 1.0, words))

    max_cost, time = limits.cost_usd or 0, limits.minutes or 0
    places = 2 if max_cost >= 1 else 4
    add("usd", usage.cost, limits.cost_usd, f"{money(usage.cost, places)} of {money(max_cost, places)}")
    add("tokens", usage.usage.total, limits.tokens, f"{usage.usage.total} of {limits.tokens} tokens")
    add("turns", usage.requests, limits.turns, f"{usage.requests} of {limits.turns} turns")
    add("minutes", seconds / 60, limits.minutes, f"{seconds / 60:.1f} of {time:g} minutes")
    add("commands", usage.commands, limits.commands, f"{usage.commands} of {limits.commands} commands")
    printed = f"{usage.output / _MIB:.1f} of {(limits.output or 0) / _MIB:g} MiB of output"
    add("output", usage.output, limits.output, printed)
    return tuple(shares)


class LimitReminder:
    """Creates each reminder of a conversation once, for each step of each limit."""

    def __init__(self) -> None:
        self._steps: dict[str, float] = {}

    def reminder(self, shares: Sequence[LimitShare]) -> str:
        """Return the text that follows a turn's results when a limit has reached 80, 90 or 95 %; otherwise ""."""
        steps = {share.limit: _step(share) for share in shares}
        new_steps = [step for limit, step in steps.items() if step > self._steps.get(limit, 0.0)]
        if not new_steps:
            return ""
        self._steps.update(steps)
        near = ", ".join(share.words for share in shares if share.used >= _REMINDER_SHARES[0])
        advice = _ADVICE[max(steps.values())]
        return f"(Used so far: {near}. At the limit the run ends with what is in the work tree. {advice})"


def _step(share: LimitShare) -> float:
    """Return the last step that `share` has reached."""
    return max((step for step in _REMINDER_SHARES if share.used >= step), default=0.0)


_ADVICE = {
    0.80: "Begin nothing new that is not needed.",
    0.90: "Finish what you have begun, and see that the tree is in a state that can be kept.",
    0.95: "Come to an end now, and hand over what you have.",
}

"""The budget of one run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from bot.contracts.request import Tier
from bot.policy.values import Policy

Limit = TypeVar("Limit", int, float)

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RunBudget:
    """What one run may use. `output` is what its commands may print together, in bytes. `usd_a_day` is what the
    requesting person may spend within a day, this run included. `None` is no limit."""

    usd: float
    turns: int
    minutes: float
    tokens: int | None = None
    commands: int | None = None
    output: int | None = None
    usd_a_day: float | None = None

    @property
    def runs_commands(self) -> bool:
        """Whether the model may run commands."""
        return self.commands != 0 and self.output != 0


def run_budget(policy: Policy, tier: Tier, requested_usd: float | None = None) -> RunBudget:
    """Return the lowest applicable limits. `requested_usd` is the request's `--budget`, which only lowers the limit."""
    own, caps = policy.tiers[tier], policy.budget
    output = least(own.output, caps.output)
    return RunBudget(
        usd=min(limit for limit in (own.usd, caps.usd, requested_usd) if limit is not None),
        turns=min(limit for limit in (own.turns, caps.turns) if limit is not None),
        minutes=min(limit for limit in (own.minutes, caps.minutes) if limit is not None),
        tokens=least(own.tokens, caps.tokens),
        commands=least(own.commands, caps.commands),
        output=None if output is None else int(output * _MIB),
        usd_a_day=own.usd_a_day,
    )


def least(one: Limit | None, other: Limit | None) -> Limit | None:
    """Return the smaller limit, where `None` is no limit."""
    return min((limit for limit in (one, other) if limit is not None), default=None)

"""What one run may cost: the tier's limits, the policy's caps, and what the request itself asks for."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.request import Tier
from bot.policy.schema import Policy


@dataclass(frozen=True, slots=True)
class RunBudget:
    usd: float
    turns: int
    minutes: float


def run_budget(policy: Policy, tier: Tier, asked_usd: float | None = None) -> RunBudget:
    """The least that applies. `asked_usd` is the request's `--budget`: it can only lower the limit."""
    own, caps = policy.tiers[tier], policy.budget
    usd = min(limit for limit in (own.usd, caps.usd, asked_usd) if limit is not None)
    turns = min(limit for limit in (own.turns, caps.turns) if limit is not None)
    minutes = min(limit for limit in (own.minutes, caps.minutes) if limit is not None)
    return RunBudget(usd, turns, minutes)

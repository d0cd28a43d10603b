"""The limits of one run."""

from dataclasses import replace
from typing import Any, TypeVar

from bot.contracts.request import Tier
from bot.policy.tiers import TierPolicy
from bot.policy.values import Policy

Limit = TypeVar("Limit", int, float)


def run_budget(policy: Policy, tier: Tier, requested_usd: float | None = None) -> TierPolicy:
    """Return the tier's limits, lowered by those of all runs and by `requested_usd`, the request's `--budget`."""
    own, caps = policy.tiers[tier], policy.budget
    names = ("usd", "turns", "minutes", "tokens", "commands", "output")
    lowered: dict[str, Any] = {name: least(getattr(own, name), getattr(caps, name)) for name in names}
    return replace(own, **lowered | {"usd": least(lowered["usd"], requested_usd)})


def least(one: Limit | None, other: Limit | None) -> Limit | None:
    """Return the smaller limit, where `None` is no limit."""
    return min((limit for limit in (one, other) if limit is not None), default=None)

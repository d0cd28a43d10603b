"""Where the workshop may reach, by tier: names of presets, whose hosts `bot/egress` knows."""

from __future__ import annotations

from bot.contracts.request import Tier
from bot.egress.presets import PRESETS
from bot.policy.schema import Policy

__all__ = ["PRESETS", "egress"]


def egress(policy: Policy, tier: Tier) -> tuple[str, ...]:
    """The presets for the agent's own commands and its checks; empty for no network. `setup` has its own, by step."""
    return policy.tiers[tier].egress

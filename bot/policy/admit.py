"""The part of a policy that intake asks for: who may use which verb."""

from __future__ import annotations

from bot.intake.admission import Admission
from bot.policy.schema import Policy


def admission(policy: Policy) -> Admission:
    return Admission(
        verbs={tier: settings.verbs for tier, settings in policy.tiers.items()},
        bots=policy.bots,
    )

"""What holds where the policy file says nothing: the one table of tiers, and the default time limits."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bot.contracts.request import Tier, Verb
from bot.policy.schema import Policy, TierPolicy

ALL_VERBS = frozenset(Verb)
READING_VERBS = frozenset({Verb.REVIEW, Verb.EXPLAIN, Verb.PLAN, Verb.STATUS, Verb.HELP})
OUTSIDER_VERBS = frozenset({Verb.HELP, Verb.STATUS})

# In seconds.
CHECK_TIMEOUT = 600.0
SETUP_TIMEOUT = 900.0


def default_tiers() -> Mapping[Tier, TierPolicy]:
    """USD, turns and minutes are a run's. A person at their own terminal gets what a maintainer gets.

    An outsider's limits say something only where a policy gives them a verb that starts a model: without any, they
    could ask and get nothing.
    """
    maintainer = TierPolicy(ALL_VERBS, usd=5, turns=80, minutes=30, runs_a_day=50)
    return MappingProxyType(
        {
            Tier.MAINTAINER: maintainer,
            Tier.CONTRIBUTOR: TierPolicy(READING_VERBS, usd=1, turns=30, minutes=10, runs_a_day=10),
            Tier.OUTSIDER: TierPolicy(OUTSIDER_VERBS, usd=0.5, turns=20, minutes=10, runs_a_day=3),
            Tier.BOT: TierPolicy(READING_VERBS, usd=1, turns=30, minutes=10, runs_a_day=10),
            Tier.SCHEDULE: TierPolicy(ALL_VERBS, usd=2, turns=60, minutes=30, runs_a_day=20),
            Tier.LOCAL: maintainer,
        }
    )


def default_policy() -> Policy:
    return Policy(source="", tiers=default_tiers())

"""The default policy: limits by tier, and time limits. All other defaults are in `values.py`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bot.contracts.request import Tier, Verb
from bot.policy.values import Policy, TierPolicy

ALL_VERBS = frozenset(Verb)
READING_VERBS = frozenset({Verb.REVIEW, Verb.EXPLAIN, Verb.PLAN, Verb.STATUS, Verb.HELP})
OUTSIDER_VERBS = frozenset({Verb.HELP, Verb.STATUS})

# In seconds.
CHECK_TIMEOUT = 600.0
SETUP_TIMEOUT = 900.0


def default_tiers() -> Mapping[Tier, TierPolicy]:
    """All but the runs a day are a run's. A person at their own terminal gets what a maintainer gets.

    An outsider's limits say something only where a policy gives them a verb that starts a model: without any, they
    could ask and get nothing.
    """
    maintainer = _tier(ALL_VERBS, 5, 80, 30, 50, commands=500, output=256)
    return MappingProxyType(
        {
            Tier.MAINTAINER: maintainer,
            Tier.CONTRIBUTOR: _tier(READING_VERBS, 1, 30, 10, 10, commands=150, output=64),
            Tier.OUTSIDER: _tier(OUTSIDER_VERBS, 0.5, 20, 10, 3, commands=100, output=64),
            Tier.BOT: _tier(READING_VERBS, 1, 30, 10, 10, commands=150, output=64),
            Tier.SCHEDULE: _tier(ALL_VERBS, 2, 60, 30, 20, commands=300, output=256),
            Tier.LOCAL: maintainer,
        }
    )


def _tier(
    verbs: frozenset[Verb],
    usd: float,
    turns: int,
    minutes: float,
    runs_a_day: int,
    *,
    commands: int,
    output: float,
) -> TierPolicy:
    return TierPolicy(verbs, usd, turns, minutes, runs_a_day, commands=commands, output=output)


def default_policy() -> Policy:
    return Policy(source="", tiers=default_tiers())

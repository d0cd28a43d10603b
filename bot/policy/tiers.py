"""What each tier may request and use: the defaults, the budget of one run, and the rules for `bot.events`.

All other defaults are in `values.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from bot.contracts.request import Tier, Verb
from bot.policy.values import Policy, TierPolicy

if TYPE_CHECKING:
    from bot.events.admission import Admission

ALL_VERBS = frozenset(Verb)
READING_VERBS = frozenset({Verb.REVIEW, Verb.EXPLAIN, Verb.PLAN, Verb.STATUS, Verb.HELP})
OUTSIDER_VERBS = frozenset({Verb.HELP, Verb.STATUS})

Limit = TypeVar("Limit", int, float)

_MIB = 1024 * 1024

# In seconds.
CHECK_TIMEOUT = 600.0
SETUP_TIMEOUT = 900.0


def default_tiers() -> Mapping[Tier, TierPolicy]:
    """Return the limits of one run by tier, and the runs a day. A person at their own terminal has a maintainer's.

    An outsider's limits take effect only if a policy gives outsiders a verb that starts a model.
    """
    maintainer = TierPolicy(ALL_VERBS, 5, 80, 30, 50, commands=500, output=256)
    return MappingProxyType(
        {
            Tier.MAINTAINER: maintainer,
            Tier.CONTRIBUTOR: TierPolicy(READING_VERBS, 1, 30, 10, 10, commands=150, output=64),
            Tier.OUTSIDER: TierPolicy(OUTSIDER_VERBS, 0.5, 20, 10, 3, commands=100, output=64),
            Tier.BOT: TierPolicy(READING_VERBS, 1, 30, 10, 10, commands=150, output=64),
            Tier.SCHEDULE: TierPolicy(ALL_VERBS, 2, 60, 30, 20, commands=300, output=256),
            Tier.LOCAL: maintainer,
        }
    )


def default_policy() -> Policy:
    return Policy(source="", tiers=default_tiers())


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


def admission(policy: Policy) -> Admission:
    """Return who may request what by `policy`, as `bot.events` takes it."""
    from bot.events.admission import Admission  # 30 ms that a local run does not need

    return Admission(
        verbs={tier: settings.verbs for tier, settings in policy.tiers.items()},
        bots=policy.bots,
        own_thread=policy.thread_author,
        labels=policy.triggers.labels,
        assignee=policy.triggers.assignee,
        reviews=policy.review.on,
        drafts=policy.review.drafts,
        failed_runs=policy.triggers.failed_runs,
        models=policy.options.models,
        always_draft=policy.pull_request.always_draft,
    )

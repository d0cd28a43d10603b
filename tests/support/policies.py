"""A policy with what a test says and nothing else."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.contracts.request import Tier
from bot.policy.review_settings import ReviewPolicy
from bot.policy.settings import OptionsPolicy, Policy
from bot.policy.tiers_and_budget import Bot, default_tiers
from bot.policy.triggers import FailedRunsPolicy, TriggersPolicy


def admitting(
    verbs: Mapping[Tier, Collection[str]],
    bots: Mapping[int, Collection[str]] | None = None,
    *,
    own_thread: Collection[str] = (),
    labels: Mapping[str, str] | None = None,
    assignee: str = "",
    reviews: Collection[str] = (),
    drafts: bool = False,
    failed_runs: bool = False,
    models: tuple[str, ...] | None = None,
) -> Policy:
    """`verbs` by tier, and `bots` by id; all else is off."""
    tiers = {
        tier: replace(limits, verbs=frozenset(verbs.get(tier, ())))
        for tier, limits in default_tiers().items()
    }
    return Policy(
        source="",
        tiers=tiers,
        bots=tuple(Bot(number, frozenset(allowed)) for number, allowed in (bots or {}).items()),
        options=OptionsPolicy(models=models),
        review=ReviewPolicy(on=frozenset(reviews), drafts=drafts),
        thread_author=frozenset(own_thread),
        triggers=TriggersPolicy(
            labels=labels or {}, assignee=assignee, failed_runs=FailedRunsPolicy(people=failed_runs)
        ),
    )

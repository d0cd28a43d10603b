"""What the policy says about who may request what, as `bot.events` takes it.

Apart from `run_budget.py`, since a local run needs nothing of `bot.events.admission`: 30 ms of imports.
"""

from __future__ import annotations

from bot.events.admission import Admission
from bot.policy.values import Policy


def admission(policy: Policy) -> Admission:
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

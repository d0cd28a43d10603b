"""What a bundle comes to, and whether its own request can have come to it. Pure."""

from __future__ import annotations

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.request import Verb
from bot.publish.bundle.read import Bundle

_AGAIN = (Verb.CONTINUE, Verb.RETRY)
# What a verb can come to: an `explain` that brings a patch was tampered with.
_VERBS = {
    Status.REVIEWED: frozenset({Verb.REVIEW, *_AGAIN}),
    Status.PLANNED: frozenset({Verb.PLAN, *_AGAIN}),
}
_CHANGING = frozenset({Verb.FIX, Verb.APPROVE, *_AGAIN})


def kind_of(bundle: Bundle) -> Status:
    """What is there to publish: a review that was cut short still has its findings."""
    partial = bundle.outcome.status is Status.PARTIAL and bundle.review is not None
    return Status.REVIEWED if partial else bundle.outcome.status


def has_change(bundle: Bundle) -> bool:
    return bool(bundle.patch) and bundle.outcome.status in (Status.CHANGED, Status.PARTIAL)


def check_repository(outcome: Outcome, repository: str) -> None:
    wanted = outcome.request.repository
    if not wanted or not outcome.request.base_ref:
        raise PublishError(
            "The bundle names no repository and base branch on GitHub: there is nowhere to publish."
        )
    if repository and wanted.lower() != repository.lower():
        raise PublishError(
            f"The bundle is for {wanted}, and this job acts for {repository}: nothing was done."
        )


def check_verb(bundle: Bundle) -> None:
    outcome = bundle.outcome
    verb, wrong = outcome.request.verb, outcome.status.value
    allowed = _VERBS.get(kind_of(bundle))
    if (has_change(bundle) and verb not in _CHANGING) or (allowed is not None and verb not in allowed):
        raise PublishError(
            f"The bundle says `{wrong}`, which `/agent {verb}` cannot come to: nothing was done."
        )

"""What a bundle comes to, and whether its parts and the pull request that it is for belong together. Pure."""

from __future__ import annotations

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.request import Request, Verb
from bot.publish.bundle.read import Bundle

_AGAIN = (Verb.CONTINUE, Verb.RETRY)
# What a verb can come to: an `explain` that brings a patch was tampered with.
_VERBS = {
    Status.REVIEWED: frozenset({Verb.REVIEW, *_AGAIN}),
    Status.PLANNED: frozenset({Verb.PLAN, *_AGAIN}),
}
_CHANGING = frozenset({Verb.FIX, Verb.APPROVE, *_AGAIN})


def kind_of(bundle: Bundle) -> Status:
    """The status that decides what is published: a review that was cut short still has its findings."""
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


def check_request(request: Request, base_sha: str) -> PullRequest:
    """The pull request that the bundle is for. Raises `PublishError` if its parts do not belong together."""
    pull, thread = request.pull, request.thread
    if pull is None:
        raise PublishError(
            "The bundle names no pull request, and its request is about one: nothing was done."
        )
    if thread is not None and (thread.number, thread.is_pull_request) != (pull.number, True):
        raise PublishError(f"The bundle is for #{pull.number}, and its thread is another: nothing was done.")
    if pull.head_sha != base_sha:
        raise PublishError(
            f"The bundle's change is to {base_sha[:12]}, and the head of #{pull.number} was "
            f"{pull.head_sha[:12]}: nothing was done."
        )
    return pull


def check_now(request: Request, now: PullRequest) -> None:
    """Raises `PublishError` if what the run went by is not so any more, or never was."""
    if now.base_ref != request.base_ref:
        raise PublishError(
            f"The base of #{now.number} is {now.base_ref}, and the run was for {request.base_ref}: ask again."
        )


def check_open(now: PullRequest) -> None:
    if now.state is not PullState.OPEN:
        raise PublishError(f"#{now.number} was {now.state} while the run was under way: nothing was pushed.")

"""Whether CI starts on what was pushed: at once, after somebody's approval, or by workflows that the policy names.

What a push or a pull request by the workflow's own token starts is documented by GitHub under "Triggering a workflow":
nothing for a push, and for a pull request that is opened, reopened or gets commits a run that waits for approval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bot.contracts.errors import PublishError
from bot.contracts.request import Tier
from bot.github.errors import GitHubError
from bot.github.values import Account
from bot.intake.who import tier_of
from bot.policy.schema import Policy
from bot.publish.change.work import Work
from bot.publish.thread.markers import PROGRESS

_NO_RUNS = (
    "CI does not start here by itself: what the workflow's own token pushes waits until somebody with write access "
    "approves the workflow runs"
)
_BY_OUTSIDERS = "text by somebody without rights here was in the prompt"
# Distinct authors whose rights are asked for, a request each. In a thread of more, somebody is taken for an outsider.
_MOST_AUTHORS = 10


def waiting(work: Work, policy: Policy) -> Work:
    """`work` with the workflow's own token, if CI has to wait for approval on what this publishes.

    Raises `PublishError` if the policy says so and there is no such token."""
    ci = policy.pull_request.ci
    if ci == "start" or (ci is None and not (policy.dispatch or work.starts_runs)):
        return work
    by_outsiders = ci is None and _outsiders_wrote(work)
    why = "the policy says `ci: wait`" if ci else _BY_OUTSIDERS if by_outsiders else ""
    if not why or not work.starts_runs or work.recorder is not None:
        return replace(work, ci_waits=why)
    if work.workflow is not None:
        host, token = work.workflow()
        return replace(work, ci_waits=why, host=host, app=work.host, remote=replace(work.remote, token=token))
    if ci:
        raise PublishError(
            "The policy says `pull_request: {ci: wait}`, which takes the workflow's own GITHUB_TOKEN, and there is "
            "none here: publish with the action, or with that token."
        )
    return work.noting(
        f"CI starts at once on this change, although {_BY_OUTSIDERS}: see `pull_request: ci` in the policy."
    )


def _outsiders_wrote(work: Work) -> bool:
    """Whether the prompt held words of an outsider, or of a bot, which may repeat theirs. GitHub is asked, since the
    bundle may lie about who wrote what."""
    request = work.request
    if request.actor.tier in (Tier.OUTSIDER, Tier.BOT) or request.triage is not None:
        return True
    others: set[str] = set()
    try:
        for author in _authors(work):
            if work.is_ours(author, PROGRESS) or author.login.lower() == request.actor.login.lower():
                continue
            others.add(author.login)
            if author.kind == "Bot" or len(others) > _MOST_AUTHORS:
                return True
        return any(tier_of(work.host.permission(work.repository, one)) is Tier.OUTSIDER for one in others)
    except GitHubError:
        return True


def _authors(work: Work) -> Iterator[Account]:
    thread, pull = work.request.thread, work.request.pull
    if thread is None:
        return
    issue = work.host.issue(work.repository, thread.number)
    yield Account(issue.author, 0, issue.author_kind)
    for one in work.host.comments(work.repository, thread.number):
        yield Account(one.author, one.author_id, one.author_kind)
    if pull is not None:
        for remark in work.host.review_comments(work.repository, pull.number):
            yield remark.author
        for review in work.host.reviews(work.repository, pull.number):
            yield review.author


def about_runs(work: Work, policy: Policy, *, foreign: bool) -> str:
    """What the pull request says of CI; empty where it starts by itself. `foreign`: with commits from outside."""
    if work.starts_runs:
        return ""
    if started := _to_start(work, policy, foreign):
        return f"{_NO_RUNS}. {' and '.join(started)} was started on the branch instead."
    why = f" ({work.ci_waits})" if work.ci_waits else ""
    return f"{_NO_RUNS}{why}. If there is nothing to approve, close and reopen this pull request to start it."


def start_runs(work: Work, policy: Policy, branch: str, *, foreign: bool) -> tuple[str, ...]:
    """Start the policy's workflows on the new commit. What GitHub refuses is a note: the commit is there."""
    notes: list[str] = []
    for workflow in _to_start(work, policy, foreign):
        try:
            work.host.dispatch_workflow(work.repository, workflow, branch, {})
        except GitHubError as error:
            notes.append(f"{workflow} was not started: {error}")
    return tuple(notes)


def _to_start(work: Work, policy: Policy, foreign: bool) -> tuple[str, ...]:
    """None for commits from outside, and none if CI has to wait: they would run at once, with the secrets of here."""
    if foreign or not policy.dispatch or work.starts_runs or work.ci_waits:
        return ()
    return policy.dispatch

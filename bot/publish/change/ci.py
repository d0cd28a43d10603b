"""Decide whether CI starts on the pushed commit: at once, after an approval, or by workflows that the policy names.

By GitHub's "Triggering a workflow", the workflow's own token starts nothing for a push, and a run that waits for
approval for a pull request that is opened, reopened or updated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bot.contracts.errors import PublishError
from bot.contracts.request import Tier
from bot.events.admission import tier_of
from bot.github.errors import GitHubError
from bot.github.values import Account
from bot.policy.values import Policy
from bot.publish.context import PublishContext
from bot.publish.thread.markers import PROGRESS

_NO_RUNS = (
    "CI does not start here by itself: what the workflow's own token pushes waits until somebody with write access "
    "approves the workflow runs"
)
_BY_OUTSIDERS = "text by somebody without rights here was in the prompt"
# Distinct authors whose permissions are requested. With more, the thread counts as having an outsider.
_MOST_AUTHORS = 10


def with_ci_wait(context: PublishContext, policy: Policy) -> PublishContext:
    """Return `context` with the workflow's own token if CI must wait for approval.

    Raises `PublishError` if the policy requires that and there is no such token."""
    ci = policy.pull_request.ci
    if ci == "start" or (ci is None and not (policy.dispatch or context.starts_runs)):
        return context
    by_outsiders = ci is None and _outsiders_wrote(context)
    why = "the policy says `ci: wait`" if ci else _BY_OUTSIDERS if by_outsiders else ""
    if not why or not context.starts_runs or context.github.dry_run is not None:
        return replace(context, ci_waits=why)
    if context.workflow is not None:
        github, token = context.workflow()
        return replace(
            context,
            ci_waits=why,
            github=github,
            app=context.github,
            remote=replace(context.remote, token=token),
        )
    if ci:
        raise PublishError(
            "The policy says `pull_request: {ci: wait}`, which takes the workflow's own GITHUB_TOKEN, and there is "
            "none here: publish with the action, or with that token."
        )
    return context.with_notes(
        f"CI starts at once on this change, although {_BY_OUTSIDERS}: see `pull_request: ci` in the policy."
    )


def _outsiders_wrote(context: PublishContext) -> bool:
    """Whether the prompt may contain text of an outsider, or of a bot, which may quote one. The authors come from
    GitHub, since the bundle is untrusted."""
    request = context.request
    if request.actor.tier in (Tier.OUTSIDER, Tier.BOT) or request.triage is not None:
        return True
    others: set[str] = set()
    try:
        for author in _authors(context):
            if context.is_ours(author, PROGRESS) or author.login.lower() == request.actor.login.lower():
                continue
            others.add(author.login)
            if author.kind == "Bot" or len(others) > _MOST_AUTHORS:
                return True
        return any(
            tier_of(context.github.permission(context.repository, one)) is Tier.OUTSIDER for one in others
        )
    except GitHubError:
        return True


def _authors(context: PublishContext) -> Iterator[Account]:
    thread, pull = context.request.thread, context.request.pull
    if thread is None:
        return
    issue = context.github.issue(context.repository, thread.number)
    yield Account(issue.author, 0, issue.author_kind)
    for one in context.github.comments(context.repository, thread.number):
        yield Account(one.author, one.author_id, one.author_kind)
    if pull is not None:
        for remark in context.github.review_comments(context.repository, pull.number):
            yield remark.author
        for review in context.github.reviews(context.repository, pull.number):
            yield review.author


def ci_note(context: PublishContext, policy: Policy, *, foreign: bool) -> str:
    """Return the pull request's note on CI; empty if CI starts by itself. `foreign`: the branch has commits of a
    fork."""
    if context.starts_runs:
        return ""
    if started := _to_start(context, policy, foreign):
        return f"{_NO_RUNS}. {' and '.join(started)} was started on the branch instead."
    why = f" ({context.ci_waits})" if context.ci_waits else ""
    return f"{_NO_RUNS}{why}. If there is nothing to approve, close and reopen this pull request to start it."


def start_workflows(
    context: PublishContext, policy: Policy, branch: str, *, foreign: bool
) -> tuple[str, ...]:
    """Start the policy's workflows on the new commit. A refusal by GitHub is a note."""
    notes: list[str] = []
    for workflow in _to_start(context, policy, foreign):
        try:
            context.github.dispatch_workflow(context.repository, workflow, branch, {})
        except GitHubError as error:
            notes.append(f"{workflow} was not started: {error}")
    return tuple(notes)


def _to_start(context: PublishContext, policy: Policy, foreign: bool) -> tuple[str, ...]:
    """Return no workflow for a fork's commits, or if CI must wait: it would run at once with this repository's
    secrets."""
    if foreign or not policy.dispatch or context.starts_runs or context.ci_waits:
        return ()
    return policy.dispatch

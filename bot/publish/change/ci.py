"""Decide whether CI starts on the pushed commit: after an approval or, if the policy says `ci: start`, at once.

By GitHub's "Triggering a workflow", the workflow's own token starts nothing for a push, and a run that waits for
approval for a pull request that is opened, reopened or updated.
"""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.errors import PublishError
from bot.github.errors import GitHubError
from bot.policy.values import Policy
from bot.publish.context import PublishContext

_NO_RUNS = (
    "CI does not start here by itself: what the workflow's own token pushes waits until somebody with write access "
    "approves the workflow runs"
)


def with_ci_wait(context: PublishContext, policy: Policy) -> PublishContext:
    """Return `context` with the workflow's own token, if there is one, unless the policy says `ci: start` or a person
    approved the change.

    The authors of the text that the model read are not looked up: they can delete it before this job runs."""
    if policy.pull_request.ci == "start" or context.approved:
        return context
    context = replace(context, ci_waits=True)
    if context.workflow is None or not context.starts_runs or context.github.dry_run is not None:
        return context
    github, token = context.workflow()
    return replace(context, github=github, app=context.github, remote=replace(context.remote, token=token))


def check_ci_wait(context: PublishContext) -> None:
    """Raise `PublishError` if CI has to wait and a push with this token would start it."""
    if context.ci_waits and context.starts_runs and context.github.dry_run is None:
        raise PublishError(
            "CI on a change waits for approval, which takes the workflow's own GITHUB_TOKEN, and there is none here "
            "that reaches this repository, so nothing was pushed. Publish with the action in a workflow of the "
            "repository, or let CI start at once: `pull_request: {ci: start}` in the policy."
        )


def ci_note(context: PublishContext, policy: Policy, *, foreign: bool) -> str:
    """Return the pull request's note on CI; empty if CI starts by itself. `foreign`: the branch has commits of a
    fork."""
    if context.starts_runs:
        return ""
    if started := _to_start(context, policy, foreign):
        return f"{_NO_RUNS}. {' and '.join(started)} was started on the branch instead."
    closed = (
        " `dispatch` starts workflows only with `pull_request: {ci: start}`."
        if policy.dispatch and not foreign
        else ""
    )
    return (
        f"{_NO_RUNS}.{closed} If there is nothing to approve, close and reopen this pull request to start it."
    )


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
    return () if foreign or context.starts_runs or context.ci_waits else policy.dispatch

"""What the base commit decides about publishing a change: the policy within the limits of a task, who pushes, and when
CI starts."""

from dataclasses import replace
from typing import NamedTuple

from bot.checkout.branches import Signature
from bot.checkout.git import Git
from bot.contracts.errors import PublishError
from bot.contracts.request import Request
from bot.maintenance.apply import with_task_limits
from bot.maintenance.task import Task, path_of, read_task
from bot.parsing.parser import Parser
from bot.policy.load import load_policy
from bot.policy.values import Policy
from bot.publish.context import PublishContext
from bot.publish.convention.read import read_conventions, with_title
from bot.publish.own_pulls import UNKNOWN_NOTE, author_of
from bot.publish.remote import read_base_file


class BaseRules(NamedTuple):
    """The rules of the commit `sha`. `labels` are a task's, for a new pull request; `author` is the account whose token
    pushes, unless the policy names another; `body_width` is that of a line of the commit's text, 0 for any."""

    sha: str
    policy: Policy
    labels: tuple[str, ...]
    author: Signature
    body_width: int = 0


def read_rules(context: PublishContext, sha: str) -> tuple[PublishContext, BaseRules]:
    """Return the rules at `sha`, and the context with the token that they let push, and notes. Raises `PolicyError`."""
    with Parser() as parser:
        policy, task = read_policy(context.git, sha, context.request, parser)
        if task is not None:
            policy = with_task_limits(policy, task)
        context = with_ci_wait(context, policy)
        # Those of files alone: the run has given the title the form of the newest commits.
        conventions = read_conventions(context.git, sha, parser)
        outcome, problem = with_title(context.outcome, conventions, parser)
    context = replace(context, bundle=context.bundle._replace(outcome=outcome))
    context = context.with_notes(*conventions.problems, problem)
    account, identity = context.github.me, policy.identity
    if account is None and not identity.email:
        context = context.with_notes(UNKNOWN_NOTE)
    labels, author = task.labels if task else (), author_of(account, identity, context.remote.url)
    return context, BaseRules(sha, policy, labels, author, conventions.body_width)


def read_policy(git: Git, sha: str, request: Request, parser: Parser) -> tuple[Policy, Task | None]:
    """Return the policy and the request's task at the commit `sha`. Raises `PolicyError` and `PublishError`."""
    file = request.policy_file
    policy = load_policy(read_base_file(git, sha, file), file, parser)
    if not request.task:
        return policy, None
    path = path_of(request.task)
    text = read_base_file(git, sha, path)
    if text is None:
        raise PublishError(f"There is no task {request.task}: {path} is not in the base commit {sha[:12]}.")
    return policy, read_task(text, path, parser)


# Whether CI starts on the pushed commit: after an approval or, if the policy says `ci: start`, at once. By GitHub's
# "Triggering a workflow", the workflow's own token starts nothing for a push, and a run that waits for approval for a
# pull request that is opened, reopened or updated.

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
    if context.workflow is None or not context.starts_runs or context.github.is_dry:
        return context
    github, token = context.workflow()
    return replace(context, github=github, app=context.github, remote=replace(context.remote, token=token))


def check_ci_wait(context: PublishContext) -> None:
    """Raise `PublishError` if CI has to wait and a push with this token would start it."""
    if context.ci_waits and context.starts_runs and not context.github.is_dry:
        raise PublishError(
            "CI on a change waits for approval, which takes the workflow's own GITHUB_TOKEN, and there is none here "
            "that reaches this repository, so nothing was pushed. Publish with the action in a workflow of the "
            "repository, or let CI start at once: `pull_request: {ci: start}` in the policy."
        )


def ci_note(context: PublishContext, policy: Policy, *, foreign: bool) -> str:
    """Return the note on CI; empty if CI starts by itself. `foreign`: the branch has commits of a fork."""
    if context.starts_runs:
        return ""
    if started := _to_start(context, policy, foreign):
        return f"{_NO_RUNS}. {' and '.join(started)} was started on the branch instead."
    closed = " `dispatch` starts workflows only with `pull_request: {ci: start}`."
    closed = closed if policy.dispatch and not foreign else ""
    return (
        f"{_NO_RUNS}.{closed} If there is nothing to approve, close and reopen this pull request to start it."
    )


def start_workflows(context: PublishContext, policy: Policy, branch: str, *, foreign: bool) -> None:
    """Start the policy's workflows on the new commit."""
    for workflow in _to_start(context, policy, foreign):
        with context.tolerating(f"{workflow} was not started"):
            context.github.dispatch_workflow(workflow, branch)


def _to_start(context: PublishContext, policy: Policy, foreign: bool) -> tuple[str, ...]:
    """None for a fork's commits, or if CI must wait: they would run at once with this repository's secrets."""
    return () if foreign or context.starts_runs or context.ci_waits else policy.dispatch

"""What the base commit decides about publishing a change: the policy within the limits of a task, and who pushes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.checkout.branches import Signature
from bot.contracts.errors import PublishError
from bot.maintenance.apply import with_task_limits
from bot.maintenance.task_file import path_of, read_task
from bot.parsing.parser import Parser
from bot.policy.load import load_policy
from bot.policy.values import Policy
from bot.publish.change.ci import with_ci_wait
from bot.publish.context import PublishContext
from bot.publish.convention.read import newest_subjects, read_conventions, with_title
from bot.publish.own_pulls import UNKNOWN_NOTE, author_of
from bot.publish.remote import read_base_file


@dataclass(frozen=True, slots=True)
class BaseRules:
    """The rules of the commit `sha`. `labels` are a task's, for a new pull request; `author` is the account whose token
    pushes, unless the policy names another; `body_width` is that of a line of the commit's text, 0 for any."""

    sha: str
    policy: Policy
    labels: tuple[str, ...]
    author: Signature
    body_width: int = 0


def read_rules(context: PublishContext, sha: str) -> tuple[PublishContext, BaseRules]:
    """Read the rules at the commit `sha`. Return the context with the token that they let push, and with notes on what
    they could not decide. Raises `PolicyError` and `PublishError`."""
    with Parser() as parser:
        file = context.request.policy_file
        policy = load_policy(read_base_file(context.git, sha, file), file, parser)
        policy, labels = apply_task(context, policy, sha, parser)
        context = with_ci_wait(context, policy)
        conventions = read_conventions(
            context.git, sha, parser, lambda: newest_subjects(context.github, context.repository, sha)
        )
        outcome, problem = with_title(context.outcome, conventions, parser)
    context = replace(context, bundle=replace(context.bundle, outcome=outcome))
    context = context.with_notes(*conventions.problems, *filter(None, [problem]))
    account, identity = context.github.me(), policy.identity
    if account is None and not identity.email:
        context = context.with_notes(UNKNOWN_NOTE)
    return context, BaseRules(
        sha, policy, labels, author_of(account, identity, context.remote.url), conventions.body_width
    )


def apply_task(
    context: PublishContext, policy: Policy, sha: str, parser: Parser | None = None
) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy with the limits of the request's task, and the task's labels, from its file at the commit
    `sha`."""
    name = context.request.task
    if not name:
        return policy, ()
    path = path_of(name)
    text = read_base_file(context.git, sha, path)
    if text is None:
        raise PublishError(f"There is no task {name}: {path} is not in the base commit {sha[:12]}.")
    task = read_task(text, path, parser)
    return with_task_limits(policy, task), task.labels

"""Validate the writes of a bundle against policy and task at the tip of the default branch, before any is applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.contracts.errors import GateError, PublishError
from bot.contracts.outcome import Outcome
from bot.contracts.writes import Write, Writes, describe_write, texts_of
from bot.gate.secrets import Finder, withhold_if_secret
from bot.maintenance.apply import allowance_of, standing_of
from bot.maintenance.task import Task
from bot.maintenance.task_file import path_of, read_task
from bot.policy.load import load_policy
from bot.policy.values import Policy
from bot.policy.writes import Allowance, ThreadConditions, refusal
from bot.publish.base_file import read_base_file
from bot.publish.body.title_and_footer import Links
from bot.publish.context import PublishContext, make_bare


@dataclass(frozen=True, slots=True)
class ValidatedWrites:
    """Writes that their run may make, in any state of their threads. `since` is when the run read these, `known` the
    last activity that it saw on one, and `threads` are they, each with whether it was counted as a pull request."""

    outcome: Outcome
    writes: tuple[Write, ...]
    threads: Mapping[int, bool]
    rules: ThreadConditions
    since: str
    known: Mapping[int, str]
    links: Links


def validate_writes(context: PublishContext) -> ValidatedWrites:
    """Raises `PublishError`, and `GateError` for a text that may not leave: then none is made."""
    outcome, request, writes = context.outcome, context.request, context.bundle.writes
    assert writes is not None
    policy, task = _load_rules(context)
    allowance = allowance_of(policy, request, task)
    if allowance is None:
        what = f"the task {request.task}" if request.task else f"`/agent {request.verb}`"
        raise PublishError(f"The bundle holds writes on threads, and {what} may make none: nothing was done.")
    if task is not None and task.threads is not None and len(allowance.threads) > task.threads.limit:
        raise PublishError(
            f"The task {task.name} is shown {task.threads.limit} threads, and the bundle has more."
        )
    _check(writes, allowance, context.rules())
    trigger = request.trigger
    since = request.triage.at if request.triage else (trigger.at if trigger else outcome.started_at)
    # GitHub's times are whole seconds: what happened in the very second of the look is known by what the look saw.
    seen = request.triage.threads if request.triage else ()
    known = {one.state.number: one.state.quiet_since for one in seen}
    return ValidatedWrites(
        outcome, writes.writes, allowance.threads, standing_of(task), since, known, context.links
    )


def _load_rules(context: PublishContext) -> tuple[Policy, Task | None]:
    """Policy and task from the tip of the default branch: the bundle could name any other."""
    request, folder = context.request, context.remote.git_dir
    folder = folder.with_name(f"{folder.name}-rules")
    git, remote = make_bare(folder, context.outcome.base_sha), replace(context.remote, git_dir=folder)
    default = remote.refs().default
    tip = remote.refs(default).heads.get(default, "") if default else ""
    if not tip:
        raise PublishError("The repository has no default branch to read the policy from: nothing was done.")
    remote.fetch(tip)
    policy = load_policy(read_base_file(git, tip, request.policy_file), request.policy_file)
    if not request.task:
        return policy, None
    path = path_of(request.task)
    text = read_base_file(git, tip, path)
    if text is None:
        raise PublishError(f"There is no task {request.task}: {path} is not on {default}.")
    return policy, read_task(text, path)


def _check(writes: Writes, allowance: Allowance, finder: Finder | None) -> None:
    before: list[Write] = []
    for write in writes.writes:
        if why := refusal(write, allowance, before):
            raise PublishError(
                f"The bundle proposes to {describe_write(write)}, and may not. {why} Nothing was done."
            )
        if secret := withhold_if_secret("\n".join(texts_of(write)), finder):
            raise GateError(
                f"The bundle proposes to {describe_write(write)}, and the text is {secret}. Nothing was done."
            )
        before.append(write)

"""The writes of a bundle judged again, before any is made: by policy and task as the default branch has them now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.checkout import layout
from bot.checkout.git import Git
from bot.contracts.errors import GateError, PublishError
from bot.contracts.outcome import Outcome
from bot.contracts.writes import Write, Writes, named, texts_of
from bot.gate.secrets import Finder, withhold_if_secret
from bot.policy.load import load_policy
from bot.policy.schema import Policy
from bot.policy.writes import Allowance, Standing, refusal
from bot.publish.base_file import read_base_file
from bot.publish.body.footer import Links
from bot.publish.bundle.read import Bundle
from bot.publish.remote import Remote
from bot.tasks.allowed import allowance_of, standing_of
from bot.tasks.file import path_of, read_task
from bot.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Proposed:
    """Writes that their run may make, wherever their threads stand now. `since` is when the run looked at these,
    `known` the last activity it saw on one, and `threads` are they, each with whether it was counted as a pull
    request."""

    outcome: Outcome
    writes: tuple[Write, ...]
    threads: Mapping[int, bool]
    rules: Standing
    since: str
    known: Mapping[int, str]
    links: Links


def judge(
    bundle: Bundle, remote: Remote, folder: Path, links: Links, finder: Finder | None = None
) -> Proposed | None:
    """`None` where there are none. `folder` does not exist yet, `finder` knows the repository's own rules for secrets.
    Raises `PublishError`, and `GateError` for a text that may not leave: then none may be made."""
    if bundle.writes is None:
        return None
    outcome, request = bundle.outcome, bundle.outcome.request
    policy, task = _rules(bundle, remote, folder)
    allowance = allowance_of(policy, request, task)
    if allowance is None:
        what = f"the task {request.task}" if request.task else f"`/agent {request.verb}`"
        raise PublishError(f"The bundle holds writes on threads, and {what} may make none: nothing was done.")
    if task is not None and task.threads is not None and len(allowance.threads) > task.threads.limit:
        raise PublishError(
            f"The task {task.name} is shown {task.threads.limit} threads, and the bundle has more."
        )
    _check(bundle.writes, allowance, finder)
    trigger = request.trigger
    since = request.triage.at if request.triage else (trigger.at if trigger else outcome.started_at)
    # GitHub's times are whole seconds: what happened in the very second of the look is known by what the look saw.
    seen = request.triage.threads if request.triage else ()
    known = {one.state.number: one.state.quiet_since for one in seen}
    return Proposed(outcome, bundle.writes.writes, allowance.threads, standing_of(task), since, known, links)


def _rules(bundle: Bundle, remote: Remote, folder: Path) -> tuple[Policy, Task | None]:
    """Policy and task as the tip of the default branch has them: whoever made the bundle could name any other."""
    request, base = bundle.outcome.request, bundle.outcome.base_sha
    layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(base))
    git, there = Git(folder), Remote(folder, remote.url, remote.token)
    default = there.refs().default
    tip = there.refs(default).heads.get(default, "") if default else ""
    if not tip:
        raise PublishError("The repository has no default branch to read the policy from: nothing was done.")
    there.fetch(tip)
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
            raise PublishError(f"The bundle proposes to {named(write)}, and may not. {why} Nothing was done.")
        if secret := withhold_if_secret("\n".join(texts_of(write)), finder):
            raise GateError(
                f"The bundle proposes to {named(write)}, and the text is {secret}. Nothing was done."
            )
        before.append(write)

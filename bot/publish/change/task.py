"""What a maintenance task adds to publishing: its branch, its bounds, its labels, and one pull request at a time."""

from __future__ import annotations

from itertools import islice

from bot.contracts.errors import PublishError
from bot.contracts.request import Tier
from bot.contracts.wording import count_of
from bot.github.errors import GitHubError
from bot.policy.schema import Policy
from bot.publish.base_file import read_base_file
from bot.publish.change.branch import Target
from bot.publish.change.work import Work
from bot.publish.remote import PREFIX
from bot.publish.thread.markers import PULL_REQUEST, read_mark
from bot.tasks.apply import bounded
from bot.tasks.file import path_of, read_task
from bot.tasks.task import Task

_MOST_PULLS = 300


def branch_of(task: str) -> str:
    """Raises `UsageError` for what can be no task's name."""
    path_of(task)
    return f"{PREFIX}task-{task}"


def read_bounds(work: Work, policy: Policy, sha: str) -> tuple[Policy, tuple[str, ...]]:
    """The policy as the request's task narrows it, and the task's labels, from its file at the commit `sha`."""
    name = work.request.task
    if not name:
        return policy, ()
    task = _task(work, name, sha)
    return bounded(policy, task), task.labels


def check_alone(work: Work, target: Target) -> None:
    """Raises `PublishError` where people have committed to the task's open pull request: it is theirs then."""
    if work.request.task and target.left_alone and not target.done:
        others = ", ".join(f"#{number}" for number in target.left_alone)
        raise PublishError(
            f"People have committed to {others}, the pull request of the task {work.request.task}: there is one at a "
            "time, so nothing was pushed."
        )


def check_room(work: Work, target: Target, most: int) -> None:
    """Raises `PublishError` where `most` pull requests of tasks are open and the schedule would open another. The plan
    counted, but two plans may have been under way at once."""
    request = work.request
    if not request.task or request.actor.tier is not Tier.SCHEDULE or target.pull is not None or target.done:
        return
    there = [
        pull
        for pull in islice(work.host.pulls(work.repository), _MOST_PULLS)
        if (read_mark(pull.body, PULL_REQUEST) or {}).get("task") and work.is_ours(pull.author, PULL_REQUEST)
    ]
    if len(there) >= most:
        raise PublishError(
            f"Open pull requests of tasks: {len(there)}, and the policy allows {most}, so nothing was pushed. "
            "The task is looked at again when its schedule has it next."
        )


def label(work: Work, number: int, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Put the task's labels on its new pull request. A refusal is a note."""
    if not labels or not number:
        return ()
    try:
        work.host.add_labels(work.repository, number, list(labels))
    except GitHubError as error:
        return (f"{count_of(labels, 'label')} could not be set: {error}",)
    return ()


def _task(work: Work, name: str, sha: str) -> Task:
    path = path_of(name)
    text = read_base_file(work.git, sha, path)
    if text is None:
        raise PublishError(f"There is no task {name}: {path} is not in the base commit {sha[:12]}.")
    return read_task(text, path)

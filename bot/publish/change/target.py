"""Which branch and pull request a commit goes to, and what a maintenance task adds: its branch, limits and labels.

The bot's own open pull request for the thread or task is updated as long as nobody else has committed to it; it is
found by branch, mark and author. Otherwise a new branch is taken: `-2`, `-3` and so on beside those that exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bot.checkout.branches import Signature
from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of
from bot.contracts.request import Tier
from bot.github.errors import GitHubError
from bot.github.values import PullData
from bot.maintenance.apply import with_task_limits
from bot.maintenance.task import Task
from bot.maintenance.task_file import path_of, read_task
from bot.policy.values import Policy
from bot.publish.base_file import read_base_file
from bot.publish.change.commit import CheckedCommit
from bot.publish.context import PublishContext
from bot.publish.remote import PREFIX
from bot.publish.thread.markers import PULL_REQUEST, read_mark

_MOST_BRANCHES = 100


@dataclass(frozen=True, slots=True)
class OwnPull:
    """An open pull request of ours for this thread. `recorded` is the commit that its mark names.

    `untouched` says that the one commit on its branch is ours; `followed` that the commit at hand is on the branch,
    with later ones on top of it.
    """

    pull: PullData
    recorded: str
    untouched: bool
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Where the commit goes. `expected` is what the branch holds now, empty if it is to be made.

    `pull` is ours to edit, or `None` if one is to be opened. `left_alone` are pull requests of ours that
    others have committed to.
    """

    branch: str
    expected: str
    pull: PullData | None = None
    left_alone: tuple[int, ...] = ()
    done: bool = False


def branch_patterns(number: int | None, name: str) -> tuple[str, ...]:
    """Every branch that a result for this thread may be on: title and slug may have changed."""
    if number is None:
        return (name, f"{name}-*")
    start = f"{PREFIX}{name.removeprefix(PREFIX).partition('-')[0]}-{number}"
    return (start, f"{start}-*")


def choose_target(
    name: str,
    commit: str,
    heads: Mapping[str, str],
    own: Sequence[OwnPull],
    *,
    never: frozenset[str] = frozenset(),
) -> Target:
    """`name` is the one we would like, `heads` are the server's, `never` the ones people work on.

    Raises `PublishError` when all are taken.
    """
    for ours in own:
        tip = heads.get(ours.pull.head_branch, "")
        if tip == commit == ours.recorded or ours.followed:
            return Target(ours.pull.head_branch, tip, ours.pull, done=True)
    for ours in own:
        if ours.untouched:
            return Target(ours.pull.head_branch, heads[ours.pull.head_branch], ours.pull)
    left_alone = tuple(ours.pull.number for ours in own)
    occupied = never | {ours.pull.head_branch for ours in own}
    for number in range(1, _MOST_BRANCHES + 1):
        candidate = name if number == 1 else f"{name}-{number}"
        # A branch with this very commit is our own, from a run that could not open its pull request.
        free = candidate not in heads or heads[candidate] == commit
        if free and candidate not in occupied:
            return Target(candidate, heads.get(candidate, ""), left_alone=left_alone)
    raise PublishError(
        f"{name} and {_MOST_BRANCHES} numbered names beside it are taken: delete some of them."
    )


_MOST_PULLS = 300


def task_branch(task: str) -> str:
    """Raises `UsageError` for what can be no task's name."""
    path_of(task)
    return f"{PREFIX}task-{task}"


def apply_task(context: PublishContext, policy: Policy, sha: str) -> tuple[Policy, tuple[str, ...]]:
    """The policy as the request's task narrows it, and the task's labels, from its file at the commit `sha`."""
    name = context.request.task
    if not name:
        return policy, ()
    task = _task(context, name, sha)
    return with_task_limits(policy, task), task.labels


def check_sole_pull(context: PublishContext, target: Target) -> None:
    """Raises `PublishError` where people have committed to the task's open pull request: it is theirs then."""
    if context.request.task and target.left_alone and not target.done:
        others = ", ".join(f"#{number}" for number in target.left_alone)
        raise PublishError(
            f"People have committed to {others}, the pull request of the task {context.request.task}: there is one "
            "at a time, so nothing was pushed."
        )


def check_pull_limit(context: PublishContext, target: Target, most: int) -> None:
    """Raises `PublishError` where `most` pull requests of tasks are open and the schedule would open another. The plan
    counted, but two plans may have been under way at once."""
    request = context.request
    if not request.task or request.actor.tier is not Tier.SCHEDULE or target.pull is not None or target.done:
        return
    there = [
        pull
        for pull in islice(context.github.pulls(context.repository), _MOST_PULLS)
        if (read_mark(pull.body, PULL_REQUEST) or {}).get("task")
        and context.is_ours(pull.author, PULL_REQUEST)
    ]
    if len(there) >= most:
        raise PublishError(
            f"Open pull requests of tasks: {len(there)}, and the policy allows {most}, so nothing was pushed. "
            "The task is looked at again when its schedule has it next."
        )


def add_labels(context: PublishContext, number: int, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Put the task's labels on its new pull request. A refusal is a note."""
    if not labels or not number:
        return ()
    try:
        context.github.add_labels(context.repository, number, list(labels))
    except GitHubError as error:
        return (f"{count_of(labels, 'label')} could not be set: {error}",)
    return ()


def _task(context: PublishContext, name: str, sha: str) -> Task:
    path = path_of(name)
    text = read_base_file(context.git, sha, path)
    if text is None:
        raise PublishError(f"There is no task {name}: {path} is not in the base commit {sha[:12]}.")
    return read_task(text, path)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A commit that is to be offered on a branch called `name`, as a pull request onto the branch `base`.

    `heads` are the server's branches that may be ours, `never` the ones people work on. Keyword, template and
    workflows to start are those of the policy at `policy_sha`. `foreign` says that the branch will hold commits
    from outside the repository. `labels` are put on a new pull request.
    """

    prepared: CheckedCommit
    author: Signature
    name: str
    base: str
    heads: Mapping[str, str]
    never: frozenset[str]
    policy: Policy
    policy_sha: str
    foreign: bool = False
    labels: tuple[str, ...] = ()


def find_target(context: PublishContext, proposal: Proposal) -> Target:
    """Asks GitHub for our own pull requests from the branches that may be ours."""
    heads = {branch: sha for branch, sha in proposal.heads.items() if branch not in proposal.never}
    own = _own_pulls(context, proposal, heads)
    target = choose_target(proposal.name, proposal.prepared.sha, heads, own, never=proposal.never)
    check_sole_pull(context, target)
    check_pull_limit(context, target, proposal.policy.maintenance.open_pulls)
    return target


def _own_pulls(context: PublishContext, proposal: Proposal, heads: Mapping[str, str]) -> list[OwnPull]:
    """Our open pull requests for this thread: by branch, mark and author, and never by the name alone."""
    commit, wanted = proposal.prepared.sha, subject_of(context)
    pulls: list[OwnPull] = []
    for branch in sorted(heads, key=len):
        for pull in context.github.open_pulls(context.repository, branch):
            fields = read_mark(pull.body, PULL_REQUEST)
            if fields is None or pull.base_branch != proposal.base:
                continue
            if {name: fields.get(name, "") for name in wanted} != wanted:
                continue
            if not context.is_ours(pull.author, PULL_REQUEST):
                continue
            recorded = fields.get("head", "")
            known = heads[branch] in (recorded, commit)
            pulls.append(
                OwnPull(
                    pull,
                    recorded,
                    untouched=known or _only_ours(context, pull, heads[branch], proposal.author),
                    followed=not known and context.github.contains(context.repository, branch, commit),
                )
            )
    return pulls


def subject_of(context: PublishContext) -> dict[str, str]:
    """What a pull request of ours is for, as its mark says it: a task's is for that, wherever it was asked for."""
    thread, task = context.request.thread, context.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}


def _only_ours(context: PublishContext, pull: PullData, tip: str, author: Signature) -> bool:
    """Where the mark is older than the branch (a run died between push and edit), its one commit tells. It must be the
    `tip` that git reports: the API may still list what was there before somebody pushed."""
    commits = context.github.pull_commits(context.repository, pull.number)
    if len(commits) != 1 or commits[0].sha != tip:
        return False
    return {commits[0].author_email, commits[0].committer_email} == {author.email}

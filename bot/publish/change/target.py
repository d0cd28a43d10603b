"""Choose the branch and the pull request for a commit, within the limits of a maintenance task.

The bot's own open pull request for the thread or task, identified by branch, mark and author, is updated as long as
nobody else has committed to it. Otherwise a new branch is used, with `-2`, `-3` and so on if the name exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bot.checkout.branches import Signature
from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of
from bot.contracts.request import Tier
from bot.github.errors import GitHubError
from bot.github.values import PullData
from bot.maintenance.task_file import path_of
from bot.publish.change.commit import CheckedCommit, same_change
from bot.publish.context import PublishContext
from bot.publish.remote import PREFIX, Refs
from bot.publish.thread.markers import PULL_REQUEST, read_mark

_MOST_BRANCHES = 100


@dataclass(frozen=True, slots=True)
class OwnPull:
    """An open pull request of ours for this thread. `recorded` is the commit that its mark names.

    `untouched`: the only commit on its branch is ours. `followed`: the commit to publish is on the branch already, with
    later ones on top.
    """

    pull: PullData
    recorded: str
    untouched: bool
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of the commit. `expected` is the branch's current commit, empty if the branch does not exist.

    `pull` is the pull request to edit, `None` if a new one is opened. `left_alone` are pull requests of ours that
    others have committed to. `done`: `pull`, in whatever state, has the commit already.
    """

    branch: str
    expected: str
    pull: PullData | None = None
    left_alone: tuple[int, ...] = ()
    done: bool = False


def branch_patterns(number: int | None, name: str) -> tuple[str, ...]:
    """Return patterns for all branches of results for this thread: title and slug may have changed."""
    if number is None:
        return (name, f"{name}-*", f"{name}/*")
    start = f"{PREFIX}{name.removeprefix(PREFIX).partition('-')[0]}-{number}"
    return (start, f"{start}-*", f"{start}/*")


def choose_target(
    name: str,
    commit: str,
    heads: Mapping[str, str],
    own: Sequence[OwnPull],
    *,
    never: frozenset[str] = frozenset(),
    is_same: Callable[[str], bool] = lambda tip: False,
) -> Target:
    """Choose a branch. `name` is the preferred one, `heads` are the server's branches, `never` those that people work
    on. `is_same`: a commit that is there has the same tree and parent, so that nothing is pushed. Raises `PublishError`
    if all candidates exist.
    """
    for ours in own:
        tip = heads.get(ours.pull.head_branch, "")
        if tip == commit == ours.recorded or ours.followed:
            return Target(ours.pull.head_branch, tip, ours.pull, done=True)
    for ours in own:
        if ours.untouched:
            tip = heads[ours.pull.head_branch]
            if is_same(tip):
                return Target(ours.pull.head_branch, tip, ours.pull, done=True)
            return Target(ours.pull.head_branch, heads[ours.pull.head_branch], ours.pull)
    left_alone = tuple(ours.pull.number for ours in own)
    occupied = never | {ours.pull.head_branch for ours in own}
    # A branch with this very commit is our own, from a run that could not open its pull request. A branch below a name
    # takes the name too, and so does another case in a clone on macOS or Windows.
    occupied |= {"/".join(head.casefold().split("/")[:2]) for head, tip in heads.items() if tip != commit}
    for number in range(1, _MOST_BRANCHES + 1):
        candidate = name if number == 1 else f"{name}-{number}"
        if candidate not in occupied:
            return Target(candidate, heads.get(candidate, ""), left_alone=left_alone)
    raise PublishError(
        f"{name} and {_MOST_BRANCHES} numbered names beside it are taken: delete some of them."
    )


_MOST_PULLS = 300


def task_branch(task: str) -> str:
    """Return the branch of a task. Raises `UsageError` for an invalid name."""
    path_of(task)
    return f"{PREFIX}task-{task}"


def check_sole_pull(context: PublishContext, target: Target) -> None:
    """Raise `PublishError` if people have committed to the task's open pull request."""
    if context.request.task and target.left_alone and not target.done:
        others = ", ".join(f"#{number}" for number in target.left_alone)
        raise PublishError(
            f"People have committed to {others}, the pull request of the task {context.request.task}: there is one "
            "at a time, so nothing was pushed."
        )


def check_pull_limit(context: PublishContext, target: Target, most: int) -> None:
    """Raise `PublishError` if `most` pull requests of tasks are open and the schedule would open another. The plan
    counted them, but two plans may have run at the same time."""
    request = context.request
    if not request.task or request.actor.tier is not Tier.SCHEDULE or target.pull is not None or target.done:
        return
    open_pulls = [
        pull
        for pull in islice(context.github.pulls(context.repository), _MOST_PULLS)
        if (read_mark(pull.body, PULL_REQUEST) or {}).get("task")
        and context.is_ours(pull.author, PULL_REQUEST)
    ]
    if len(open_pulls) >= most:
        raise PublishError(
            f"Open pull requests of tasks: {len(open_pulls)}, and the policy allows {most}, so nothing was pushed. "
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


@dataclass(frozen=True, slots=True)
class Proposal:
    """A commit to propose on a branch called `name`, as a pull request onto the branch `base`.

    `refs` has the server's branches that may be ours, `never` are those that people work on. `foreign`: the branch
    will contain commits of a fork.
    """

    commit: CheckedCommit
    name: str
    base: str
    refs: Refs
    never: frozenset[str]
    foreign: bool = False


def find_target(context: PublishContext, proposal: Proposal) -> Target:
    """Choose the target by our own pull requests on GitHub. One that this bundle was published in counts in any state:
    it may be merged or closed by now, and its branch deleted."""
    heads = {branch: sha for branch, sha in proposal.refs.heads.items() if branch not in proposal.never}
    own = _own_pulls(context, proposal, sorted(heads, key=len))
    open_ones = [
        _open_pull(context, proposal, pull, fields.get("head", ""), heads[pull.head_branch])
        for pull, fields in own
        if pull.state == "open" and pull.base_branch == proposal.base
    ]
    target = choose_target(
        proposal.name,
        proposal.commit.sha,
        heads,
        open_ones,
        never=proposal.never,
        is_same=lambda tip: bool(context.request.task) and same_change(context, tip, proposal.commit.sha),
    )
    thread = context.request.thread
    if target.branch not in heads and proposal.refs.newest_pull > (thread.number if thread else 0):
        own += _own_pulls(context, proposal, [target.branch])
    for pull, fields in own:
        published_here = fields.get("change", fields.get("head")) == proposal.commit.change
        # GitHub gives a pull request another base if its own is deleted.
        if published_here and (pull.state != "open" or pull.base_branch != proposal.base):
            return Target(pull.head_branch, pull.head_sha, pull, done=True)
    check_sole_pull(context, target)
    check_pull_limit(context, target, proposal.commit.policy.maintenance.open_pulls)
    return target


def _own_pulls(
    context: PublishContext, proposal: Proposal, branches: Sequence[str]
) -> list[tuple[PullData, Mapping[str, str]]]:
    """Return our pull requests for this thread with the fields of their marks: by branch, mark and author, never by the
    branch name alone."""
    wanted = subject_of(context)
    pulls: list[tuple[PullData, Mapping[str, str]]] = []
    for branch in branches:
        for pull in context.github.pulls_from(context.repository, branch, "all"):
            fields = read_mark(pull.body, PULL_REQUEST)
            if fields is None or {name: fields.get(name, "") for name in wanted} != wanted:
                continue
            if context.is_ours(pull.author, PULL_REQUEST):
                pulls.append((pull, fields))
    return pulls


def _open_pull(
    context: PublishContext, proposal: Proposal, pull: PullData, recorded: str, tip: str
) -> OwnPull:
    """`recorded` is the commit that the mark names, `tip` the branch's, which git reports."""
    commit = proposal.commit.sha
    known = tip in (recorded, commit)
    return OwnPull(
        pull,
        recorded,
        untouched=known or _only_ours(context, pull, tip, proposal.commit.author),
        followed=not known and context.github.contains(context.repository, pull.head_branch, commit),
    )


def subject_of(context: PublishContext) -> dict[str, str]:
    """Return the fields of our mark that identify a pull request's thread or task. A task's pull request belongs to the
    task, also if it was requested in a thread."""
    thread, task = context.request.thread, context.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}


def _only_ours(context: PublishContext, pull: PullData, tip: str, author: Signature) -> bool:
    """Whether the only commit of the pull request is ours, for a mark that is older than the branch (a run died between
    push and edit). It must be the `tip` that git reports, since the API may be out of date."""
    commits = context.github.pull_commits(context.repository, pull.number)
    if len(commits) != 1 or commits[0].sha != tip:
        return False
    return {commits[0].author_email, commits[0].committer_email} == {author.email}

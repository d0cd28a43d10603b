"""Choose the branch and the pull request for a commit, within the limits of a maintenance task.

The bot's own open pull request for the thread or task, identified by branch, mark and author, is updated as long as
nobody else has committed to it. Otherwise a new branch is used, with `-2`, `-3` and so on if the name exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Status, StopReason
from bot.github.errors import GitHubError
from bot.github.values import PullData
from bot.maintenance.task_file import path_of
from bot.publish.change.commit import CheckedCommit, same_change
from bot.publish.context import PublishContext
from bot.publish.markdown import safe_line
from bot.publish.own_pulls import OwnPull, is_untouched, own_pull
from bot.publish.remote import PREFIX, Refs
from bot.publish.thread.markers import PULL_REQUEST, mark, marked

_MOST_BRANCHES = 100


@dataclass(frozen=True, slots=True)
class Candidate:
    """An open pull request of ours for this thread. `untouched`: nobody else has committed to it. `followed`: the
    commit to publish is on the branch already, with later ones on top."""

    own: OwnPull
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
    candidates: Sequence[Candidate],
    *,
    never: frozenset[str] = frozenset(),
    is_same: Callable[[str], bool] = lambda tip: False,
) -> Target:
    """Choose a branch. `name` is the preferred one, `heads` are the server's branches, `never` those that people work
    on. `is_same`: a commit that is there has the same tree and parent, so that nothing is pushed. Raises `PublishError`
    if all names exist.
    """
    for one in candidates:
        pull = one.own.pull
        tip = heads.get(pull.head_branch, "")
        if tip == commit == one.own.recorded or one.followed:
            return Target(pull.head_branch, tip, pull, done=True)
    for one in candidates:
        if one.untouched:
            pull = one.own.pull
            tip = heads[pull.head_branch]
            return Target(pull.head_branch, tip, pull, done=is_same(tip))
    left_alone = tuple(one.own.pull.number for one in candidates)
    occupied = never | {one.own.pull.head_branch for one in candidates}
    # A branch with this very commit is our own, from a run that could not open its pull request. A branch below a name
    # takes the name too, and so does another case in a clone on macOS or Windows.
    occupied |= {"/".join(head.casefold().split("/")[:2]) for head, tip in heads.items() if tip != commit}
    for number in range(1, _MOST_BRANCHES + 1):
        numbered = name if number == 1 else f"{name}-{number}"
        if numbered not in occupied:
            return Target(numbered, heads.get(numbered, ""), left_alone=left_alone)
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


def task_pulls(context: PublishContext) -> list[OwnPull]:
    """Return the bot's open pull requests for tasks, among the newest of the repository."""
    pulls = islice(context.github.pulls(context.repository), _MOST_PULLS)
    owned = (own_pull(pull, *context.accounts) for pull in pulls)
    return [own for own in owned if own is not None and own.task]


def close_obsolete(context: PublishContext) -> tuple[str, ...]:
    """Close the pull request with a sentence, unless people have committed to it; returns soft failures. Its mark says
    that we closed it, so that it is nobody's "no"."""
    outcome, task, github = context.outcome, context.request.task, context.github
    if not task or outcome.status is not Status.NO_CHANGE or outcome.stop_reason is not StopReason.END_TURN:
        return ()
    try:
        # By its mark: after a closed pull request the branch of the task has another name.
        for own in task_pulls(context):
            pull = own.pull
            if (own.task, own.recorded) != (task, pull.head_sha):
                continue
            reason = safe_line(outcome.reason)
            text = f"Closed: the task {task} finds nothing to change at {outcome.base_sha[:12]} any more. {reason}"
            body = pull.body.rstrip().rpartition("\n")[0]
            closed = marked(body, mark(PULL_REQUEST, **{**own.fields, "obsolete": "1"}))
            github.edit_pull(context.repository, pull.number, title=pull.title, body=closed)
            github.create_comment(context.repository, pull.number, text)
            github.close_issue(context.repository, pull.number, "not_planned")
            context.say(f"#{pull.number} is obsolete and was closed")
    except GitHubError as error:
        return (f"The task's obsolete pull request could not be closed: {error}",)
    return ()


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
    owned = _own_pulls(context, sorted(heads, key=len))
    candidates = [
        _candidate(context, proposal, own, heads[own.pull.head_branch])
        for own in owned
        if own.pull.state == "open" and own.pull.base_branch == proposal.base
    ]
    target = choose_target(
        proposal.name,
        proposal.commit.sha,
        heads,
        candidates,
        never=proposal.never,
        is_same=lambda tip: bool(context.request.task) and same_change(context, tip, proposal.commit.sha),
    )
    if target.branch not in heads:
        owned += _own_pulls(context, [target.branch])
    for own in owned:
        pull, published_here = own.pull, own.fields.get("change", own.recorded) == proposal.commit.change
        # GitHub gives a pull request another base if its own is deleted.
        if published_here and (pull.state != "open" or pull.base_branch != proposal.base):
            return Target(pull.head_branch, pull.head_sha, pull, done=True)
    check_sole_pull(context, target)
    return target


def _own_pulls(context: PublishContext, branches: Sequence[str]) -> list[OwnPull]:
    """Return our pull requests for this thread from these branches."""
    wanted = subject_of(context)
    pulls = (
        pull for branch in branches for pull in context.github.pulls_from(context.repository, branch, "all")
    )
    owned = (own_pull(pull, *context.accounts) for pull in pulls)
    return [own for own in owned if own and {name: own.fields.get(name, "") for name in wanted} == wanted]


def _candidate(context: PublishContext, proposal: Proposal, own: OwnPull, tip: str) -> Candidate:
    """`tip` is the branch's commit, which git reports."""
    github, sha = context.github, proposal.commit.sha
    known = tip in (own.recorded, sha)
    identity = proposal.commit.policy.identity
    return Candidate(
        own,
        untouched=known or is_untouched(github, context.repository, own, identity, tip),
        followed=not known and github.contains(context.repository, own.pull.head_branch, sha),
    )


def subject_of(context: PublishContext) -> dict[str, str]:
    """Return the fields of our mark that identify a pull request's thread or task. A task's pull request belongs to the
    task, also if it was requested in a thread."""
    thread, task = context.request.thread, context.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}

"""Choose the branch and the pull request for a commit, within the limits of a maintenance task.

The bot's own open pull request for the thread or task, identified by branch, mark and author, is updated as long as
nobody else has committed to it. Otherwise a new branch is used, with `-2`, `-3` and so on if the name exists.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import NamedTuple

from github.PullRequest import PullRequest

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Status, StopReason
from bot.maintenance.task import path_of
from bot.publish.change.commit import CheckedCommit, same_change
from bot.publish.context import PublishContext
from bot.publish.markdown import safe_line
from bot.publish.own_pulls import OwnPull, is_untouched, own_pull
from bot.publish.remote import PREFIX, Refs
from bot.publish.thread.markers import PULL_REQUEST, mark, marked

_MOST_BRANCHES = 100


class Target(NamedTuple):
    """The destination of the commit. `expected` is the branch's current commit, empty if the branch does not exist.

    `pull` is the pull request to edit, `None` if a new one is opened. `left_alone` are pull requests of ours that
    others have committed to. `done`: `pull`, in whatever state, has the commit already.
    """

    branch: str
    expected: str
    pull: PullRequest | None = None
    left_alone: tuple[int, ...] = ()
    done: bool = False


def branch_patterns(number: int | None, name: str) -> tuple[str, ...]:
    """Return patterns for all branches of results for this thread: title and slug may have changed."""
    if number is None:
        return (name, f"{name}-*", f"{name}/*")
    start = f"{PREFIX}{name.removeprefix(PREFIX).partition('-')[0]}-{number}"
    return (start, f"{start}-*", f"{start}/*")


def free_branch(name: str, commit: str, heads: Mapping[str, str], occupied: Set[str]) -> str:
    """Return `name`, or the first numbered one beside it that neither `occupied` nor the server's `heads` have. A
    branch with this very commit is our own, from a run that could not open its pull request. Raises `PublishError` if
    all names exist."""
    # A branch below a name takes the name too, and so does another case in a clone on macOS or Windows.
    taken = {"/".join(head.casefold().split("/")[:2]) for head, tip in heads.items() if tip != commit}
    numbered = (name, *(f"{name}-{number}" for number in range(2, _MOST_BRANCHES + 1)))
    free = next((one for one in numbered if one not in taken | occupied), None)
    if free is None:
        raise PublishError(f"{name} and {_MOST_BRANCHES} numbered names beside it are taken: delete some.")
    return free


_MOST_PULLS = 300


def task_branch(task: str) -> str:
    """Return the branch of a task. Raises `UsageError` for an invalid name."""
    path_of(task)
    return f"{PREFIX}task-{task}"


def close_obsolete(context: PublishContext) -> None:
    """Close the pull request, unless people have committed to it, with a mark that it is nobody's "no"."""
    outcome, task, github = context.outcome, context.request.task, context.github
    if not task or outcome.status is not Status.NO_CHANGE or outcome.stop_reason is not StopReason.END_TURN:
        return
    with context.tolerating("The task's obsolete pull request could not be closed"):
        # By its mark: after a closed pull request the branch of the task has another name.
        for pull in list(islice(github.pulls(), _MOST_PULLS)):
            own = own_pull(pull, *context.accounts)
            if own is None or (own.task, own.recorded) != (task, pull.head.sha):
                continue
            reason = safe_line(outcome.reason)
            text = f"Closed: the task {task} finds nothing to change at {outcome.base_sha[:12]} any more. {reason}"
            body = (pull.body or "").rstrip().rpartition("\n")[0]
            closed = marked(body, mark(PULL_REQUEST, **{**own.fields, "obsolete": "1"}))
            github.edit_pull(pull.number, title=pull.title, body=closed)
            github.create_comment(pull.number, text)
            github.close_issue(pull.number, "not_planned")
            context.say(f"#{pull.number} is obsolete and was closed")


class Proposal(NamedTuple):
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
    it may be merged or closed by now, and its branch deleted. Raises `PublishError` if all names exist, or if people
    have committed to the task's open pull request."""
    heads = {branch: sha for branch, sha in proposal.refs.heads.items() if branch not in proposal.never}
    owned = _own_pulls(context, sorted(heads, key=len))
    if (done := _published(owned, proposal.commit)) is not None:
        return done
    left_alone = []
    for own in owned:
        pull, sha = own.pull, proposal.commit.sha
        if pull.state != "open" or pull.base.ref != proposal.base:
            continue
        tip = heads[pull.head.ref]
        if tip in (own.recorded, sha) or is_untouched(
            context.github, own, proposal.commit.policy.identity, tip
        ):
            is_same = bool(context.request.task) and same_change(context, tip, sha)
            return Target(pull.head.ref, tip, pull, done=is_same)
        left_alone.append(pull)
    occupied = proposal.never | {pull.head.ref for pull in left_alone}
    branch = free_branch(proposal.name, proposal.commit.sha, heads, occupied)
    if branch not in heads and (done := _published(_own_pulls(context, [branch]), proposal.commit)):
        return done
    if context.request.task and left_alone:
        others = ", ".join(f"#{pull.number}" for pull in left_alone)
        raise PublishError(
            f"People have committed to {others}, the pull request of the task {context.request.task}: there is one "
            "at a time, so nothing was pushed."
        )
    return Target(branch, heads.get(branch, ""), left_alone=tuple(pull.number for pull in left_alone))


def _published(owned: Iterable[OwnPull], commit: CheckedCommit) -> Target | None:
    """Return the pull request that this change was published in; `None` if there is none."""
    for own in owned:
        if own.fields.get("change", own.recorded) == commit.change:
            return Target(own.pull.head.ref, own.pull.head.sha, own.pull, done=True)
    return None


def _own_pulls(context: PublishContext, branches: Sequence[str]) -> list[OwnPull]:
    """Return our pull requests for this thread from these branches."""
    wanted = subject_of(context)
    return [
        own
        for branch in branches
        for pull in context.github.pulls_from(branch, "all")
        if (own := own_pull(pull, *context.accounts))
        and {name: own.fields.get(name, "") for name in wanted} == wanted
    ]


def subject_of(context: PublishContext) -> dict[str, str]:
    """Return the fields of our mark that identify thread or task. A task's pull request belongs to the task alone."""
    thread, task = context.request.thread, context.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}

"""Which branch and pull request a result goes to: a pure decision over what the server has.

The bot's own open pull request for the thread is updated as long as nobody else has committed to it;
otherwise a new branch is taken, `-2`, `-3` and so on beside those that exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.contracts.errors import PublishError
from bot.github.values import PullData
from bot.publish.remote import PREFIX

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
    """Where the commit goes. `expected` is what the branch holds now, empty where it is to be made.

    `pull` is ours to edit, or `None` where one is to be opened. `left_alone` are pull requests of ours that
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

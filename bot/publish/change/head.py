"""Which way a result goes that was made on a pull request's head: pure decisions over what GitHub says now.

Onto the head itself only where it is the bot's own or the policy lets it be, and only while it is what was worked on.
Else a pull request of our own: onto the head's branch, or for a fork, whose branch is not here, onto its base, where
it cannot be a review of suggestions (`bot.publish.change.suggested`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bot.contracts.errors import PublishError
from bot.contracts.pulls import PullRequest
from bot.gate.rules import protection
from bot.policy.protected import ProtectedFiles
from bot.policy.schema import Policy
from bot.publish.remote import PREFIX


@dataclass(frozen=True, slots=True)
class Head:
    """A pull request as it is now. `fork` is a head outside this repository, `ours` one that the bot made.

    `moved` says that there are commits on top of the one that was worked on.
    """

    now: PullRequest
    fork: bool
    ours: bool
    moved: bool

    @property
    def mention(self) -> str:
        return f"#{self.now.number}"


@dataclass(frozen=True, slots=True)
class Way:
    """`push_to` is the repository whose branch `now.head_ref` gets the commit, empty where a pull request of our own
    onto `base` is the way. `note` is what its readers must know."""

    push_to: str
    base: str
    note: str = ""


def way_of(head: Head, policy: Policy, repository: str, default_branch: str) -> Way:
    """Where a change to `head` goes."""
    now = head.now
    people = {default_branch, now.base_ref}
    if head.fork:
        if policy.forks == "push" and now.maintainer_can_modify and now.head_repository and not head.moved:
            return Way(now.head_repository, now.base_ref)
        whose = now.head_repository or f"the deleted fork of {now.author}"
        note = f"This holds the commits of {head.mention} by {now.author} from {whose}, and one of the bot's on top."
        return Way("", now.base_ref, f"{note}{_moved(head)}")
    may_push = (head.ours or policy.push_to_head) and now.head_ref not in people
    if may_push and not head.moved:
        return Way(repository, now.base_ref)
    return Way("", now.head_ref, f"Merging this adds its commit to {head.mention}.{_moved(head)}")


def no_suggestions(head: Head) -> str:
    """Why there is no use in suggestions on this pull request, as a clause; empty where there may be."""
    if head.moved:
        return "its head has moved on since the run began"
    return "" if head.now.head_repository else "the fork is deleted, so they cannot be applied"


def is_own_branch(now: PullRequest, repository: str) -> bool:
    """Whether the head may be one that the bot made; its pull request's mark and author must say so too."""
    return not now.from_fork(repository) and now.head_ref.startswith(PREFIX)


def check_foreign(
    head: Head, paths: Iterable[str], protected: ProtectedFiles, *, trusted: bool, starts_runs: bool
) -> None:
    """Raises `PublishError` where a fork's commits may not be put on a branch of this repository.

    There they could be run with this repository's secrets: by workflows that start at once, or by a workflow that
    they themselves change and that a later push starts.
    """
    for path in paths:
        if reason := protection(path, protected):
            raise PublishError(
                f"The commits of {head.mention} change {path} ({reason}), so they are not put on a branch of this "
                "repository."
            )
    if starts_runs and not trusted:
        raise PublishError(
            f"A branch with the commits of {head.mention} would start this repository's workflows on a fork's code. "
            f"If you have read that code, name its commit: `/agent fix --sha {head.now.head_sha[:12]} ...`."
        )


def _moved(head: Head) -> str:
    if not head.moved:
        return ""
    return f" The head of {head.mention} has moved on since the run began: this was made without its latest commits."

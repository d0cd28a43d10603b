"""The pull request that is worked on: whether anything can be done with it, and which head was there when asked.

A pull request's author can push at any moment, also between a command and the run that reads it. So the head is
the payload's where the payload has one. For a comment in the conversation, which has none, it is the head at
reading, unless GitHub's own list of pushes says that it came after the comment: then the command is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.request import Actor, Tier, Verb
from bot.contracts.threads import PullReader, PushData
from bot.intake.answers import Ignored, Refusal
from bot.intake.asked import OWN_BRANCHES, Asked, Cause

# GitHub lists no more files of a pull request than these.
MAX_REVIEWED_FILES = 3_000

# What a push sets off is set off by the next push again.
_OF_A_HEAD = (Cause.PULL_REQUEST, Cause.FAILED_RUN)
_OF_ENDED = (Verb.EXPLAIN, Verb.STOP, Verb.STATUS, Verb.HELP)
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class PullAsked:
    """`pull` has the head that was there at the trigger. `notes` say what could not be made sure of."""

    pull: PullRequest
    trusted_sha: str = ""
    notes: tuple[str, ...] = ()


def read_pull(
    asked: Asked, verb: Verb, named_sha: str, actor: Actor, reader: PullReader
) -> PullAsked | Refusal | Ignored:
    """The pull request that `asked` is about. `named_sha` is what a `--sha` says, empty without one."""
    repository = asked.repository.name
    pull = reader.pull(repository, asked.number)
    refusal = unfit(pull, verb, asked)
    if refusal is not None:
        return refusal
    if asked.head_sha not in ("", pull.head_sha):
        if asked.cause in _OF_A_HEAD:
            return Ignored(
                f"Nothing to do: pull request #{pull.number} has a newer head commit than the one in this event."
            )
        pull = replace(pull, head_sha=asked.head_sha)
    if named_sha:
        return _vouched(pull, named_sha, actor)
    if asked.head_sha:
        return PullAsked(pull)

    def pushes() -> Sequence[PushData] | None:
        return reader.pushes(pull.head_repository, pull.head_ref) if pull.head_repository else None

    return head_at_trigger(pull, asked, pushes)


def unfit(pull: PullRequest, verb: Verb, asked: Asked) -> Refusal | None:
    """Why nothing can be done with a pull request in this state, or `None`."""
    name = f"Pull request #{pull.number}"
    if pull.locked:
        return Refusal(f"{name} is locked, so no comment can be posted on it.", said=False)
    if pull.state is PullState.MERGED and verb not in _OF_ENDED:
        return Refusal(
            f"{name} is merged already. For further work, write the command in an issue.", said=True
        )
    if pull.state is PullState.CLOSED and verb not in _OF_ENDED:
        return Refusal(
            f"{name} is closed. Reopen it and repeat the command, or write it in an issue.", said=True
        )
    if verb is Verb.REVIEW and pull.changed_files > MAX_REVIEWED_FILES:
        return Refusal(
            f"{name} changes {pull.changed_files:,} files; a review covers at most {MAX_REVIEWED_FILES:,}. "
            "Split it, or ask `/agent explain` about a part of it.",
            said=True,
        )
    head = asked.subject.head if asked.subject else None
    if head is not None and head.base_ref != pull.base_ref:
        return Refusal(
            f"The base branch of pull request #{pull.number} was changed after this command. "
            "Check it and repeat the command.",
            said=True,
        )
    return None


def head_at_trigger(
    pull: PullRequest, asked: Asked, pushes: Callable[[], Sequence[PushData] | None]
) -> PullAsked | Refusal:
    """Whether the head that is there now was there at the trigger. `pushes` is called only where it must be."""
    at = asked.trigger.at
    if pull.updated_at and pull.updated_at <= at:
        return PullAsked(pull)
    if pull.head_ref.startswith(OWN_BRANCHES) and not pull.from_fork(asked.repository.name):
        # Only the bot pushes there, and commands queue: each goes on from what the one before it left.
        return PullAsked(pull)
    known = pushes()
    newest = next((push for push in known or () if push.after == pull.head_sha), None)
    if newest is not None and newest.at <= at:
        return PullAsked(pull)
    if any(push.at > at for push in known or ()):
        return Refusal(
            f"Somebody pushed to pull request #{pull.number} after this command; "
            f"its head is now {pull.head_sha[:_SHOWN]}. Check it and repeat the command.",
            said=True,
        )
    if known and newest is None:
        # All pushes there are to see came before the trigger, and so did whatever made this head.
        return PullAsked(pull)
    return PullAsked(
        pull, notes=("word of when the head was pushed: it may be newer than the command that asked",)
    )


def _vouched(pull: PullRequest, named: str, actor: Actor) -> PullAsked | Refusal:
    if not pull.head_sha.startswith(named):
        return Refusal(
            f"`--sha {named}` is not the head of pull request #{pull.number}, "
            f"which is {pull.head_sha[:_SHOWN]}. Check that commit and name it.",
            said=True,
        )
    if actor.tier is not Tier.MAINTAINER:
        return Refusal(
            "Only people with write access can use `--sha`, since it vouches for the code; "
            f"{actor.login} has no write access.",
            said=True,
        )
    return PullAsked(pull, trusted_sha=pull.head_sha)

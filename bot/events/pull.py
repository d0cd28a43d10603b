"""Read the target pull request: whether a run can work on it, and its head at the trigger.

An author can push at any moment, also between a command and its run. So the head is the payload's, if it has one. A
comment in the conversation has none: then it is the present head, unless GitHub's list of pushes shows that it is
newer than the comment, which refuses the command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.request import Actor, Tier, Verb
from bot.contracts.threads import PullReader, PushData
from bot.events.event_request import OWN_BRANCHES, Cause, EventRequest, NoRequest, Refusal

# GitHub lists at most so many files of a pull request.
MAX_REVIEWED_FILES = 3_000

# The next push causes such an event again.
_HEAD_CAUSES = (Cause.PULL_REQUEST, Cause.FAILED_RUN)
_VERBS_ON_CLOSED = (Verb.EXPLAIN, Verb.STOP, Verb.STATUS, Verb.HELP)
_SHORT_SHA = 12


@dataclass(frozen=True, slots=True)
class PullTarget:
    """`pull` has the head at the trigger. `notes` say what could not be verified."""

    pull: PullRequest
    trusted_sha: str = ""
    notes: tuple[str, ...] = ()


def read_pull_target(
    event_request: EventRequest, verb: Verb, named_sha: str, actor: Actor, reader: PullReader
) -> PullTarget | Refusal | NoRequest:
    """Read the pull request of `event_request`. `named_sha` is the value of `--sha`, or empty."""
    repository = event_request.repository.name
    pull = reader.pull(repository, event_request.number)
    refusal = pull_refusal(pull, verb, event_request)
    if refusal is not None:
        return refusal
    if event_request.head_sha not in ("", pull.head_sha):
        if event_request.cause in _HEAD_CAUSES:
            return NoRequest(
                f"Nothing to do: pull request #{pull.number} has a newer head commit than the one in this event."
            )
        pull = replace(pull, head_sha=event_request.head_sha)
    if named_sha:
        return _check_named_sha(pull, named_sha, actor)
    if event_request.head_sha:
        return PullTarget(pull)

    def pushes() -> Sequence[PushData] | None:
        return reader.pushes(pull.head_repository, pull.head_ref) if pull.head_repository else None

    return head_at_trigger(pull, event_request, pushes)


def pull_refusal(pull: PullRequest, verb: Verb, event_request: EventRequest) -> Refusal | None:
    """Return why a run cannot work on a pull request in this state, or `None`."""
    name = f"Pull request #{pull.number}"
    if pull.locked:
        return Refusal(f"{name} is locked, so no comment can be posted on it.", in_thread=False)
    if pull.state is PullState.MERGED and verb not in _VERBS_ON_CLOSED:
        return Refusal(
            f"{name} is merged already. For further work, write the command in an issue.", in_thread=True
        )
    if pull.state is PullState.CLOSED and verb not in _VERBS_ON_CLOSED:
        return Refusal(
            f"{name} is closed. Reopen it and repeat the command, or write it in an issue.", in_thread=True
        )
    if verb is Verb.REVIEW and pull.changed_files > MAX_REVIEWED_FILES:
        return Refusal(
            f"{name} changes {pull.changed_files:,} files; a review covers at most {MAX_REVIEWED_FILES:,}. "
            "Split it, or ask `/agent explain` about a part of it.",
            in_thread=True,
        )
    head = event_request.subject.head if event_request.subject else None
    if head is not None and head.base_ref != pull.base_ref:
        return Refusal(
            f"The base branch of pull request #{pull.number} was changed after this command. "
            "Check it and repeat the command.",
            in_thread=True,
        )
    return None


def head_at_trigger(
    pull: PullRequest, event_request: EventRequest, pushes: Callable[[], Sequence[PushData] | None]
) -> PullTarget | Refusal:
    """Check that the present head existed at the trigger. `pushes` is called only if needed."""
    triggered_at = event_request.trigger.at
    if pull.updated_at and pull.updated_at <= triggered_at:
        return PullTarget(pull)
    if pull.head_ref.startswith(OWN_BRANCHES) and not pull.from_fork(event_request.repository.name):
        # Only the bot pushes there, and commands queue: each continues the previous one's result.
        return PullTarget(pull)
    known = pushes()
    newest = next((push for push in known or () if push.after == pull.head_sha), None)
    if newest is not None and newest.at <= triggered_at:
        return PullTarget(pull)
    if any(push.at > triggered_at for push in known or ()):
        return Refusal(
            f"Somebody pushed to pull request #{pull.number} after this command; "
            f"its head is now {pull.head_sha[:_SHORT_SHA]}. Check it and repeat the command.",
            in_thread=True,
        )
    if known and newest is None:
        # All listed pushes came before the trigger, so the head did, too.
        return PullTarget(pull)
    return PullTarget(
        pull, notes=("word of when the head was pushed: it may be newer than the command that asked",)
    )


def _check_named_sha(pull: PullRequest, named_sha: str, actor: Actor) -> PullTarget | Refusal:
    if not pull.head_sha.startswith(named_sha):
        return Refusal(
            f"`--sha {named_sha}` is not the head of pull request #{pull.number}, "
            f"which is {pull.head_sha[:_SHORT_SHA]}. Check that commit and name it.",
            in_thread=True,
        )
    if actor.tier is not Tier.MAINTAINER:
        return Refusal(
            "Only people with write access can use `--sha`, since it vouches for the code; "
            f"{actor.login} has no write access.",
            in_thread=True,
        )
    return PullTarget(pull, trusted_sha=pull.head_sha)

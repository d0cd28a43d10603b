"""Read the target pull request: whether a run can work on it, and its head at the trigger.

An author can push at any moment, also between a command and its run. So the head is the payload's, if it has one. A
comment in the conversation has none: then it is the present head, unless GitHub's list of pushes shows that it is not
older than the comment, which refuses the command. With `--sha` the list must show that it is older.
"""

from bot.contracts.pulls import BRANCH_PREFIX, PullRequest, PullState
from bot.contracts.request import Actor, Tier
from bot.events.event_request import Cause, EventRequest, NoRequestError, RefusedError
from bot.github.client import GitHub
from bot.verbs.registry import VERBS

# GitHub lists at most so many files of a pull request.
MAX_REVIEWED_FILES = 3_000

# The next push causes such an event again.
_HEAD_CAUSES = (Cause.PULL_REQUEST, Cause.FAILED_RUN, Cause.FAILED_UPDATE)


def read_target_pull(
    event_request: EventRequest, verb: str, named_sha: str, actor: Actor, reader: GitHub
) -> tuple[PullRequest, str]:
    """Return the pull request of `event_request` with its head at the trigger, and a note if that could not be
    verified. `named_sha` is the value of `--sha`, or empty. Raises `RefusedError`, and `NoRequestError` for an event
    that the next push causes again."""
    pull = reader.pull(event_request.number)
    _check_state(pull, verb, event_request)
    if event_request.head_sha not in ("", pull.head_sha):
        if event_request.cause in _HEAD_CAUSES:
            raise NoRequestError(
                f"pull request #{pull.number} has a newer head commit than the one in this event"
            )
        pull = pull._replace(head_sha=event_request.head_sha)
    if named_sha and pull.head_sha != named_sha:
        raise RefusedError(
            f"`--sha {named_sha}` is not the head of pull request #{pull.number}, which is {pull.head_sha}. Check that "
            "commit and name it."
        )
    if named_sha and actor.tier is not Tier.MAINTAINER:
        raise RefusedError(
            "Only people with write access can use `--sha`, since it vouches for the code; "
            f"{actor.login} has no write access."
        )
    return pull, "" if event_request.head_sha else _check_head(pull, named_sha, event_request, reader)


def _check_state(pull: PullRequest, verb: str, event_request: EventRequest) -> None:
    """Refuse a pull request in a state that a run cannot work on."""
    name = f"Pull request #{pull.number}"
    head = event_request.subject.head if event_request.subject else None
    if pull.locked:
        raise RefusedError(f"{name} is locked, so no comment can be posted on it.", in_thread=False)
    if pull.state is PullState.MERGED and not VERBS[verb].on_closed:
        raise RefusedError(f"{name} is merged already. For further work, write the command in an issue.")
    if pull.state is PullState.CLOSED and not VERBS[verb].on_closed:
        raise RefusedError(f"{name} is closed. Reopen it and repeat the command, or write it in an issue.")
    if VERBS[verb].reviews and pull.changed_files > MAX_REVIEWED_FILES:
        raise RefusedError(
            f"{name} changes {pull.changed_files:,} files; a review covers at most {MAX_REVIEWED_FILES:,}. "
            "Split it, or ask `/agent explain` about a part of it."
        )
    if head is not None and head.base_ref != pull.base_ref:
        raise RefusedError(
            f"The base branch of pull request #{pull.number} was changed after this command. "
            "Check it and repeat the command."
        )


def _check_head(pull: PullRequest, named_sha: str, event_request: EventRequest, reader: GitHub) -> str:
    """Check that the present head was pushed before the trigger; with `--sha` not in the same second, either. Returns a
    note if nobody knows.

    The time is that of the head repository's activity list, which GitHub's server records for every push, forced or
    not, and which can be read of any public fork. A pull request's timeline has times for forced pushes only, check
    suites exist only where an app made one, and the dates in commits are their author's.
    """
    triggered_at = event_request.trigger.at
    if not named_sha and pull.updated_at and pull.updated_at <= triggered_at:
        return ""
    if pull.head_ref.startswith(BRANCH_PREFIX) and not pull.from_fork(event_request.repository.name):
        # Only the bot pushes there, and commands queue: each continues the previous one's result.
        return ""
    pushes = reader.pushes(pull.head_repository, pull.head_ref) if pull.head_repository else None
    newest = max((push.at for push in pushes or ()), default="")
    if newest > triggered_at or (named_sha and newest == triggered_at):
        raise RefusedError(
            f"Somebody pushed to pull request #{pull.number} after this command; "
            f"its head is now {pull.head_sha}. Check it and repeat the command."
        )
    if pushes and pushes[0].after == pull.head_sha:
        return ""
    # No list, or one without the push that made this head.
    if named_sha:
        raise RefusedError(
            f"GitHub does not tell when the head of pull request #{pull.number} was pushed, so `--sha` cannot vouch "
            "for it here. Repeat the command in a review of the pull request, whose event names the head."
        )
    return "word of when the head was pushed: it may be newer than the command that asked"

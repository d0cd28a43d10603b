"""What an event asks for by its payload alone: a command, something that the policy may make one, or nothing.

Nothing is asked of GitHub here, so that the many events that ask for nothing cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Tier, Trigger
from bot.contracts.threads import OWN_MARKER, RepositoryData
from bot.intake.answers import Ignored
from bot.intake.command import Command, mentions_agent, missed_command, parse_command
from bot.intake.event import (
    CommentEvent,
    DispatchEvent,
    Event,
    OtherEvent,
    ReviewEvent,
    RunEvent,
    ScheduleEvent,
    Subject,
    ThreadEvent,
)
from bot.intake.payload import Account

OWN_BRANCHES = "agent/"
"""Nobody but the bot is meant to push there; what happens on a pull request of such a branch starts nothing."""

_REVIEWABLE = ("opened", "reopened", "ready_for_review", "synchronize")
_OF_PULLS = ("pull_request", "pull_request_target")


class Cause(StrEnum):
    """What of an event asks. All but a command ask only where the policy says so."""

    COMMAND = "command"
    LABEL = "label"
    ASSIGNMENT = "assignment"
    PULL_REQUEST = "pull request"
    FAILED_RUN = "failed run"


@dataclass(frozen=True, slots=True)
class Given:
    """What the job that handles an event knows beyond the payload.

    `instruction` and `task` are the workflow's own words, for events without any of somebody's. `repository` is
    the job's (`owner/name`), `now` the time (RFC 3339), `url` the job's page. `target` is the repository that a
    maintenance plan names for the task, where it is another.
    """

    repository: str = ""
    instruction: str = ""
    task: str = ""
    now: str = "1970-01-01T00:00:00Z"
    url: str = ""
    target: str = ""


NOTHING_GIVEN = Given()


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody or something asked. `command` is `None` where the policy decides, by `cause` and `detail`.

    `detail` is the label, the login that was assigned, or the action on the pull request. `asker` is who is
    answerable, `None` for a deleted account; `tier` is set where nobody asked but the policy. `subject` is `None`
    where the payload holds none; `number` may then still name one. `head_sha` is the head that the payload holds,
    `anchor` the lines that a review comment stands on, without what is said there.
    """

    repository: RepositoryData
    trigger: Trigger
    cause: Cause
    asker: Account | None
    sender: Account | None
    command: Command | None = None
    detail: str = ""
    subject: Subject | None = None
    number: int = 0
    head_sha: str = ""
    task: str = ""
    tier: Tier | None = None
    anchor: ReviewThread | None = None


def recognise(event: Event, given: Given = NOTHING_GIVEN) -> Asked | Ignored:
    """What `event` asks for. Never raises."""
    match event:
        case CommentEvent():
            return _in_comment(event)
        case ReviewEvent():
            return _in_review(event)
        case ThreadEvent():
            return _on_thread(event)
        case DispatchEvent():
            return _dispatched(event, given)
        case ScheduleEvent():
            return _scheduled(event, given)
        case RunEvent():
            return _after_run(event)
        case OtherEvent(name="push"):
            return Ignored(
                "Nothing to do: a push asks for nothing; what it brings to a pull request comes by `pull_request`."
            )
        case OtherEvent():
            return Ignored(f"Nothing to do: the event `{_word(event.name)}` asks for nothing.")


def is_own(body: str) -> bool:
    """Whether a text carries the bot's mark. A mark in a quote, which has `>` before it, is not one."""
    return any(line.startswith(OWN_MARKER) for line in body.splitlines())


def _in_comment(event: CommentEvent) -> Asked | Ignored:
    if event.action != "created":
        return Ignored(
            f"Nothing to do: the comment was {_word(event.action)}, and only a new comment is a command."
        )
    command = _command_in(event.body, "comment")
    if isinstance(command, Ignored):
        return command
    trigger = Trigger(event.name, event.id, event.url, event.asked_at)
    return _of_thread(event, trigger, event.author, command, anchor=event.anchor)


def _in_review(event: ReviewEvent) -> Asked | Ignored:
    if event.action != "submitted":
        return Ignored(
            f"Nothing to do: the review was {_word(event.action)}, and only a new review is a command."
        )
    command = _command_in(event.body, "review")
    if isinstance(command, Ignored):
        return command
    trigger = Trigger(event.name, 0, event.url, event.submitted_at)
    return _of_thread(event, trigger, event.author, command)


def _on_thread(event: ThreadEvent) -> Asked | Ignored:
    pull = event.name in _OF_PULLS
    noun = "pull request" if pull else "issue"
    if event.action == "opened" and not pull:
        return _in_opened(event)
    if event.action == "labeled" and event.label:
        return _set_off(event, Cause.LABEL, event.label)
    if event.action == "assigned" and event.assignee:
        return _set_off(event, Cause.ASSIGNMENT, event.assignee)
    if not pull or event.action not in _REVIEWABLE:
        return Ignored(f"Nothing to do: the {noun} was {_word(event.action)}, which asks for nothing.")
    if _is_own_pull(event):
        return Ignored("Nothing to do: the pull request is of a branch of this bot's own.")
    return _set_off(event, Cause.PULL_REQUEST, event.action)


def _in_opened(event: ThreadEvent) -> Asked | Ignored:
    command = _command_in(event.subject.body, "issue")
    if isinstance(command, Ignored):
        return command
    trigger = Trigger(event.name, 0, event.subject.url, event.created_at)
    return _of_thread(event, trigger, event.subject.author, command)


def _set_off(event: ThreadEvent, cause: Cause, detail: str) -> Asked:
    """The payload has no time for what was done; the thread's last change before it is what it had seen."""
    trigger = Trigger(event.name, 0, event.subject.url, event.subject.updated_at)
    return _of_thread(event, trigger, event.sender, cause=cause, detail=detail)


def _of_thread(
    event: CommentEvent | ReviewEvent | ThreadEvent,
    trigger: Trigger,
    asker: Account | None,
    command: Command | None = None,
    *,
    cause: Cause = Cause.COMMAND,
    detail: str = "",
    anchor: ReviewThread | None = None,
) -> Asked:
    """What was asked in or about the thread that the payload holds."""
    subject = event.subject
    return Asked(
        event.repository, trigger, cause, asker, event.sender, command, detail, subject, subject.number,
        subject.head.sha if subject.head else "", anchor=anchor,
    )  # fmt: skip


def _dispatched(event: DispatchEvent, given: Given) -> Asked | Ignored:
    instruction, task = event.instruction or given.instruction, event.task or given.task
    asked = _of_workflow(event, given, instruction, task)
    if isinstance(asked, Ignored):
        return asked
    return replace(asked, asker=event.sender, sender=event.sender, number=event.number)


def _scheduled(event: ScheduleEvent, given: Given) -> Asked | Ignored:
    asked = _of_workflow(event, given, given.instruction, given.task)
    return asked if isinstance(asked, Ignored) else replace(asked, tier=Tier.SCHEDULE)


def _of_workflow(
    event: DispatchEvent | ScheduleEvent, given: Given, instruction: str, task: str
) -> Asked | Ignored:
    """What a workflow asks for in its own words; by nobody, until somebody is named."""
    command = _command_of(instruction, task)
    if command is None:
        return Ignored(f"Nothing to do: the `{event.name}` has neither an `instruction` nor a `task`.")
    trigger = Trigger(event.name, 0, given.url, given.now)
    return Asked(_worked_on(event.repository, given), trigger, Cause.COMMAND, None, None, command, task=task)


def _worked_on(own: RepositoryData | None, given: Given) -> RepositoryData:
    """The event's repository, or the one whose task it is; of that, the payload knows nothing but the name."""
    name = given.target or (own.name if own else given.repository)
    if own is not None and own.name.lower() == name.lower():
        return own
    return RepositoryData(name, "", private=True, clone_url="")


def _after_run(event: RunEvent) -> Asked | Ignored:
    if event.action != "completed" or event.conclusion != "failure":
        ended = event.conclusion if event.action == "completed" else event.action
        return Ignored(
            f"Nothing to do: the workflow run is `{_word(ended)}`, and only a failed one is looked at."
        )
    if event.cause not in _OF_PULLS:
        return Ignored(
            f"Nothing to do: the failed run was of the event `{_word(event.cause)}`, not of a pull request."
        )
    if event.head_repository.lower() != event.repository.name.lower():
        return Ignored(
            "Nothing to do: the failed run is of a fork's pull request; a person has to ask for a fix there."
        )
    if event.head_ref.startswith(OWN_BRANCHES):
        return Ignored("Nothing to do: the failed run is of a branch of this bot's own.")
    if event.actor is None or event.actor.kind == "Bot":
        return Ignored("Nothing to do: the failed run was begun by a bot's push or by a deleted account.")
    if not event.pulls:
        return Ignored("Nothing to do: the failed run is of no open pull request.")
    return Asked(
        repository=event.repository,
        trigger=Trigger(event.name, 0, event.url, event.ended_at),
        cause=Cause.FAILED_RUN,
        asker=event.actor,
        sender=event.actor,
        detail=event.workflow,
        number=min(event.pulls),
        head_sha=event.head_sha,
        tier=Tier.SCHEDULE,
    )


def _command_in(body: str, noun: str) -> Command | Ignored:
    if is_own(body):
        return Ignored(f"Nothing to do: the {noun} is this bot's own.")
    command = parse_command(body)
    if command is not None:
        return command
    if noun != "issue" and (missed := missed_command(body)) is not None:
        return missed
    if mentions_agent(body):
        return Ignored(
            f"Nothing to do: the {noun} mentions `/agent`, but a command starts the first line of a {noun}."
        )
    return Ignored(f"Nothing to do: the {noun} has no `/agent` command.")


def _command_of(instruction: str, task: str) -> Command | None:
    """The command in a workflow's own words, where `/agent` may be left out."""
    if not instruction.strip() and not task:
        return None
    return parse_command(instruction) or parse_command(f"/agent {instruction}")


def _is_own_pull(event: ThreadEvent) -> bool:
    head = event.subject.head
    return (
        head is not None
        and head.repository.lower() == event.repository.name.lower()
        and head.ref.startswith(OWN_BRANCHES)
    )


def _word(text: str) -> str:
    """A word of the payload's, fit to stand in backticks."""
    return "".join(c for c in text if c.isalnum() or c in "_-. ")[:40] or "unknown"

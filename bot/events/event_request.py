"""Parse an event into an `EventRequest`, or a `NoRequest` if it contains no command.

Reads the payload alone, so an event without a request costs no API call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from bot.contracts.errors import ExitCode
from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Tier, Trigger
from bot.contracts.threads import OWN_MARKER, Account, RepositoryData, TextKind
from bot.events.command import Command, mentions_agent, near_miss_command, parse_command
from bot.events.event import (
    ISSUE_COMMENT,
    REVIEW,
    REVIEW_COMMENT,
    SCHEDULE,
    CommentEvent,
    DispatchEvent,
    Event,
    OtherEvent,
    RunEvent,
    Subject,
    ThreadEvent,
)

OWN_BRANCHES = "agent/"
"""Only the bot pushes to these branches; events on a pull request of such a branch start nothing."""

_REVIEWABLE = ("opened", "reopened", "ready_for_review", "synchronize")
_KINDS = {
    ISSUE_COMMENT: TextKind.COMMENT,
    REVIEW_COMMENT: TextKind.REVIEW_COMMENT,
    REVIEW: TextKind.REVIEW,
}
_OF_PULLS = ("pull_request", "pull_request_target")


class Cause(StrEnum):
    """What makes an event a request. All causes but a command need the policy's consent."""

    COMMAND = "command"
    LABEL = "label"
    ASSIGNMENT = "assignment"
    PULL_REQUEST = "pull request"
    FAILED_RUN = "failed run"


@dataclass(frozen=True, slots=True)
class WorkflowInputs:
    """What the job adds to the payload.

    `instruction` and `task` are the workflow's inputs, for events that carry no text. `repository` is the job's
    (`owner/name`), `now` the time (RFC 3339), `url` the job's page. `target` is the repository that a maintenance
    plan names for the task, if it is another.
    """

    repository: str = ""
    instruction: str = ""
    task: str = ""
    now: str = "1970-01-01T00:00:00Z"
    url: str = ""
    target: str = ""


NO_INPUTS = WorkflowInputs()


@dataclass(frozen=True, slots=True)
class CommandSource:
    """The text that holds a command, as its author wrote it. `identity` is 0 for the thread's own text."""

    kind: TextKind
    identity: int
    body: str


@dataclass(frozen=True, slots=True)
class EventRequest:
    """A parsed event that requests something. `command` is `None` if the policy decides, by `cause` and `detail`.

    `source` is the text with the command, `None` for a workflow's input. `detail` is the label, the assigned login, or
    the action on the pull request. `actor` is the responsible account, `None` if it is deleted; `tier` is set if the
    policy requests the run and no account does. `subject` is `None` if the payload has no thread; `number` may still
    name one. `head_sha` is the payload's head, `anchor` the lines that a review comment is on, without its comments.
    """

    repository: RepositoryData
    trigger: Trigger
    cause: Cause
    actor: Account | None
    sender: Account | None
    command: Command | None = None
    source: CommandSource | None = None
    detail: str = ""
    subject: Subject | None = None
    number: int = 0
    head_sha: str = ""
    task: str = ""
    tier: Tier | None = None
    anchor: ReviewThread | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not run. `reason` is one line, posted in the thread if `in_thread`, else only logged."""

    reason: str
    in_thread: bool
    exit_code: ExitCode = ExitCode.REFUSED


@dataclass(frozen=True, slots=True)
class NoRequest:
    """An event that requests nothing. `reason` is one sentence for the log."""

    reason: str


def parse_event_request(event: Event, inputs: WorkflowInputs = NO_INPUTS) -> EventRequest | NoRequest:
    """Return the request in `event`. Never raises."""
    match event:
        case CommentEvent():
            return _from_comment(event)
        case ThreadEvent():
            return _from_thread_event(event)
        case DispatchEvent():
            return _from_dispatch(event, inputs)
        case RunEvent():
            return _from_run(event)
        case OtherEvent(name="push"):
            return NoRequest(
                "Nothing to do: a push asks for nothing; what it brings to a pull request comes by `pull_request`."
            )
        case OtherEvent():
            return NoRequest(f"Nothing to do: the event `{_word(event.name)}` asks for nothing.")


def is_own(body: str) -> bool:
    """Whether a text contains the bot's mark. A mark in a quote, after `>`, does not count."""
    return any(line.startswith(OWN_MARKER) for line in body.splitlines())


def _from_comment(event: CommentEvent) -> EventRequest | NoRequest:
    is_review = event.name == REVIEW
    noun, new = ("review", "submitted") if is_review else ("comment", "created")
    if event.action != new:
        return NoRequest(
            f"Nothing to do: the {noun} was {_word(event.action)}, and only a new {noun} is a command."
        )
    command = command_in(event.body, noun)
    if isinstance(command, NoRequest):
        return command
    trigger = Trigger(event.name, 0 if is_review else event.id, event.url, event.requested_at)
    source = CommandSource(_KINDS[event.name], event.id, event.body)
    return replace(_for_thread(event, trigger, event.author, command, source), anchor=event.anchor)


def _from_thread_event(event: ThreadEvent) -> EventRequest | NoRequest:
    pull = event.name in _OF_PULLS
    noun = "pull request" if pull else "issue"
    if event.action == "opened" and not pull:
        return _from_opened_issue(event)
    if event.action == "labeled" and event.label:
        return _from_action(event, Cause.LABEL, event.label)
    if event.action == "assigned" and event.assignee:
        return _from_action(event, Cause.ASSIGNMENT, event.assignee)
    if not pull or event.action not in _REVIEWABLE:
        return NoRequest(f"Nothing to do: the {noun} was {_word(event.action)}, which asks for nothing.")
    if _is_own_pull(event):
        return NoRequest("Nothing to do: the pull request is of a branch of this bot's own.")
    return _from_action(event, Cause.PULL_REQUEST, event.action)


def _from_opened_issue(event: ThreadEvent) -> EventRequest | NoRequest:
    command = command_in(event.subject.body, "issue")
    if isinstance(command, NoRequest):
        return command
    trigger = Trigger(event.name, 0, event.subject.url, event.created_at)
    source = CommandSource(TextKind.THREAD, 0, event.subject.body)
    return _for_thread(event, trigger, event.subject.author, command, source)


def _from_action(event: ThreadEvent, cause: Cause, detail: str) -> EventRequest:
    """The payload has no time of the action, so the trigger's time is the thread's last change before it."""
    trigger = Trigger(event.name, 0, event.subject.url, event.subject.updated_at)
    return _for_thread(event, trigger, event.sender, cause=cause, detail=detail)


def _for_thread(
    event: CommentEvent | ThreadEvent,
    trigger: Trigger,
    actor: Account | None,
    command: Command | None = None,
    source: CommandSource | None = None,
    *,
    cause: Cause = Cause.COMMAND,
    detail: str = "",
) -> EventRequest:
    """Return the request about the thread in the payload."""
    subject = event.subject
    return EventRequest(
        event.repository,
        trigger,
        cause,
        actor,
        event.sender,
        command,
        source,
        detail,
        subject,
        subject.number,
        subject.head.sha if subject.head else "",
    )


def _from_dispatch(event: DispatchEvent, inputs: WorkflowInputs) -> EventRequest | NoRequest:
    """Return the request in a workflow's inputs."""
    instruction, task = event.instruction or inputs.instruction, event.task or inputs.task
    command = _command_from_inputs(instruction, task)
    if command is None:
        return NoRequest(f"Nothing to do: the `{event.name}` has neither an `instruction` nor a `task`.")
    trigger = Trigger(event.name, 0, inputs.url, inputs.now)
    repository = _target_repository(event.repository, inputs)
    return EventRequest(
        repository=repository,
        trigger=trigger,
        cause=Cause.COMMAND,
        actor=event.sender,
        sender=event.sender,
        command=command,
        # The number is one of the event's repository, which need not be the task's.
        number=event.number if repository == event.repository else 0,
        task=task,
        tier=Tier.SCHEDULE if event.name == SCHEDULE else None,
    )


def _target_repository(own: RepositoryData | None, inputs: WorkflowInputs) -> RepositoryData:
    """Return the event's repository, or the target of the task, of which only the name is known."""
    name = inputs.target or (own.name if own else inputs.repository)
    if own is not None and own.name.lower() == name.lower():
        return own
    return RepositoryData(name, "", private=True, clone_url="")


def _from_run(event: RunEvent) -> EventRequest | NoRequest:
    if event.action != "completed" or event.conclusion != "failure":
        ended = event.conclusion if event.action == "completed" else event.action
        return NoRequest(
            f"Nothing to do: the workflow run is `{_word(ended)}`, and only a failed one is looked at."
        )
    if event.cause not in _OF_PULLS:
        return NoRequest(
            f"Nothing to do: the failed run was of the event `{_word(event.cause)}`, not of a pull request."
        )
    if event.head_repository.lower() != event.repository.name.lower():
        return NoRequest(
            "Nothing to do: the failed run is of a fork's pull request; a person has to ask for a fix there."
        )
    if event.head_ref.startswith(OWN_BRANCHES):
        return NoRequest("Nothing to do: the failed run is of a branch of this bot's own.")
    if event.actor is None or event.actor.kind == "Bot":
        return NoRequest("Nothing to do: the failed run was begun by a bot's push or by a deleted account.")
    if not event.pulls:
        return NoRequest("Nothing to do: the failed run is of no open pull request.")
    return EventRequest(
        repository=event.repository,
        trigger=Trigger(event.name, 0, event.url, event.ended_at),
        cause=Cause.FAILED_RUN,
        actor=event.actor,
        sender=event.actor,
        detail=event.workflow,
        number=min(event.pulls),
        head_sha=event.head_sha,
        tier=Tier.SCHEDULE,
    )


def command_in(body: str, noun: str) -> Command | NoRequest:
    if is_own(body):
        return NoRequest(f"Nothing to do: the {noun} is this bot's own.")
    command = parse_command(body)
    if command is not None:
        return command
    if noun != "issue" and (missed := near_miss_command(body)) is not None:
        return missed
    if mentions_agent(body):
        return NoRequest(
            f"Nothing to do: the {noun} mentions `/agent`, but a command starts the first line of a {noun}."
        )
    return NoRequest(f"Nothing to do: the {noun} has no `/agent` command.")


def _command_from_inputs(instruction: str, task: str) -> Command | None:
    """Parse the command in a workflow's input, where `/agent` is optional."""
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
    """Return a word of the payload, safe inside backticks."""
    return "".join(c for c in text if c.isalnum() or c in "_-. ")[:40] or "unknown"

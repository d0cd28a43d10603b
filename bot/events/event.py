"""Read an event's payload file, field by field.

The payload is a snapshot: its content counts, whatever the thread contains later. The closed union is `Event`; any
other event becomes an `OtherEvent`, of which only the name is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.threads import Account, RepositoryData
from bot.events.payload import Fields, load

ISSUE_COMMENT = "issue_comment"
REVIEW_COMMENT = "pull_request_review_comment"
REVIEW = "pull_request_review"
SCHEDULE = "schedule"
WORKFLOW_RUN = "workflow_run"


@dataclass(frozen=True, slots=True)
class Head:
    """The two ends of a pull request. `repository` is `owner/name`, empty if the fork was deleted."""

    sha: str
    ref: str
    repository: str
    base_ref: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The issue or pull request that an event is about. `author` is `None` for a deleted account.

    `comments` is their number, 0 if unknown. `head` is `None` for an issue, and for a pull request if the payload
    lacks it, as that of a comment in its conversation does. `updated_at` is
    the last change before the event.
    """

    number: int
    title: str
    body: str
    author: Account | None
    url: str
    updated_at: str
    is_pull_request: bool = False
    locked: bool = False
    draft: bool = False
    comments: int = 0
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class CommentEvent:
    """A comment in a conversation (`issue_comment`) or on lines of a diff (`pull_request_review_comment`), or the own
    text of a review (`pull_request_review`).

    Each kind has ids of its own. `requested_at` is when it became visible: a comment on lines that belongs to a
    review is created with its first word and changed once more when the review is submitted. `sender` is the account
    that caused the event, which for an edit need not be the author. `anchor` is its location in the diff, without
    the thread's comments.
    """

    name: str
    action: str
    repository: RepositoryData
    subject: Subject
    sender: Account | None
    id: int
    url: str
    body: str
    requested_at: str
    author: Account | None
    anchor: ReviewThread | None = None


@dataclass(frozen=True, slots=True)
class ThreadEvent:
    """An action on an issue (`issues`) or a pull request (`pull_request`, `pull_request_target`).

    `label` and `assignee` are what the action added, empty for other actions.
    """

    name: str
    action: str
    repository: RepositoryData
    subject: Subject
    sender: Account | None
    created_at: str
    label: str = ""
    assignee: str = ""


@dataclass(frozen=True, slots=True)
class DispatchEvent:
    """A workflow that an account with write access started by hand or through the API, or that a schedule started.

    The inputs (or the client's payload) `instruction`, `number` and `task` are read; `number` is the issue or pull
    request, or 0. A schedule has no `sender`, and `repository` is `None` where its payload does not name it, as
    GitHub's often does not.
    """

    name: str
    repository: RepositoryData | None
    sender: Account | None = None
    instruction: str = ""
    number: int = 0
    task: str = ""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """A `workflow_run` event: a workflow's run at `head_sha`, begun by the event `cause` that `actor` caused.

    `pulls` are the numbers of this repository's open pull requests with that head on a branch of its own.
    """

    action: str
    repository: RepositoryData
    conclusion: str
    cause: str
    workflow: str
    head_sha: str
    head_ref: str
    head_repository: str
    pulls: tuple[int, ...]
    url: str
    ended_at: str
    actor: Account | None
    name: str = WORKFLOW_RUN


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """An event that starts nothing."""

    name: str
    action: str


Event = CommentEvent | ThreadEvent | DispatchEvent | RunEvent | OtherEvent


def read_event(name: str, path: Path) -> Event:
    """Return the event in the payload file at `path`. Raises `UsageError` naming the file or the invalid field."""
    fields = load(path)
    reader = READERS.get(name)
    return OtherEvent(name, fields.text("action", default="")) if reader is None else reader(fields)


def _comment(name: str, parent: str, fields: Fields) -> CommentEvent:
    return CommentEvent(
        name=name,
        action=fields.text("action"),
        repository=fields.repository(),
        subject=_subject(fields, parent),
        sender=fields.account("sender"),
        id=fields.number("comment.id"),
        url=fields.text("comment.html_url"),
        body=fields.text("comment.body", default=""),
        requested_at=_requested_at(name, fields),
        author=fields.account("comment.user"),
        anchor=_anchor(fields) if name == REVIEW_COMMENT else None,
    )


def _requested_at(name: str, fields: Fields) -> str:
    created = fields.time("comment.created_at")
    if name != REVIEW_COMMENT or not fields.has("comment.updated_at"):
        return created
    return max(created, fields.time("comment.updated_at"))


def _anchor(fields: Fields) -> ReviewThread:
    """Return a comment's location. The payload's line is null if it is gone from the diff, and for a whole file."""
    line = fields.number("comment.line", default=0)
    of_file = fields.text("comment.subject_type", default="line") == "file"
    return ReviewThread(
        id=fields.number("comment.in_reply_to_id", default=0) or fields.number("comment.id"),
        path=fields.text("comment.path"),
        line=line,
        start_line=fields.number("comment.start_line", default=0) if line else 0,
        side=Side.LEFT if fields.text("comment.side", default="RIGHT") == "LEFT" else Side.RIGHT,
        hunk=fields.text("comment.diff_hunk", default=""),
        comments=(),
        outdated=line == 0 and not of_file,
    )


def _review(fields: Fields) -> CommentEvent:
    subject = _subject(fields, "pull_request")
    # An old dismissed review has no time, and starts nothing.
    submitted = fields.time("review.submitted_at") if fields.has("review.submitted_at") else ""
    return CommentEvent(
        name=REVIEW,
        action=fields.text("action"),
        repository=fields.repository(),
        subject=subject,
        sender=fields.account("sender"),
        id=fields.number("review.id"),
        url=fields.text("review.html_url"),
        body=fields.text("review.body", default=""),
        requested_at=submitted or subject.updated_at,
        author=fields.account("review.user"),
    )


def _thread(name: str, parent: str, fields: Fields) -> ThreadEvent:
    action = fields.text("action")
    return ThreadEvent(
        name=name,
        action=action,
        repository=fields.repository(),
        subject=_subject(fields, parent),
        sender=fields.account("sender"),
        created_at=fields.time(f"{parent}.created_at"),
        label=fields.text("label.name", default="") if action == "labeled" else "",
        assignee=fields.text("assignee.login", default="") if action == "assigned" else "",
    )


def _dispatch(name: str, inputs: str, fields: Fields) -> DispatchEvent:
    return DispatchEvent(
        name=name,
        repository=fields.repository(),
        sender=fields.account("sender"),
        instruction=fields.text(f"{inputs}.instruction", default=""),
        number=fields.number_in_text(f"{inputs}.number"),
        task=fields.text(f"{inputs}.task", default=""),
    )


def _schedule(fields: Fields) -> DispatchEvent:
    return DispatchEvent(SCHEDULE, fields.repository() if fields.has("repository") else None)


def _run(fields: Fields) -> RunEvent:
    return RunEvent(
        action=fields.text("action"),
        repository=fields.repository(),
        conclusion=fields.text("workflow_run.conclusion", default=""),
        cause=fields.text("workflow_run.event"),
        workflow=fields.text("workflow_run.name", default=""),
        head_sha=fields.sha("workflow_run.head_sha"),
        head_ref=fields.text("workflow_run.head_branch", default=""),
        head_repository=_name_of(fields, "workflow_run.head_repository"),
        pulls=tuple(_own_pulls(fields)),
        url=fields.text("workflow_run.html_url"),
        ended_at=fields.time("workflow_run.updated_at"),
        actor=fields.account("workflow_run.actor"),
    )


def _own_pulls(fields: Fields) -> Iterator[int]:
    """Yield the numbers of this repository's own pull requests with the run's head. GitHub also lists those onto other
    repositories of the network that have the same head: such a number is something else here."""
    own, head_sha = fields.number("repository.id"), fields.sha("workflow_run.head_sha")
    for pull in fields.entries("workflow_run.pull_requests"):
        repositories = {pull.count("base.repo.id"), pull.count("head.repo.id")}
        if repositories == {own} and pull.text("head.sha", default="") == head_sha:
            yield pull.number("number")


def _subject(fields: Fields, parent: str) -> Subject:
    return Subject(
        number=fields.number(f"{parent}.number"),
        title=fields.text(f"{parent}.title"),
        body=fields.text(f"{parent}.body", default=""),
        author=fields.account(f"{parent}.user"),
        url=fields.text(f"{parent}.html_url"),
        updated_at=fields.time(f"{parent}.updated_at"),
        is_pull_request=parent == "pull_request" or fields.has(f"{parent}.pull_request"),
        locked=fields.truth(f"{parent}.locked", default=False),
        draft=fields.truth(f"{parent}.draft", default=False),
        comments=fields.count(f"{parent}.comments"),
        head=_head(fields, parent) if parent == "pull_request" else None,
    )


def _head(fields: Fields, parent: str) -> Head:
    return Head(
        sha=fields.sha(f"{parent}.head.sha"),
        ref=fields.text(f"{parent}.head.ref"),
        repository=_name_of(fields, f"{parent}.head.repo"),
        base_ref=fields.text(f"{parent}.base.ref"),
    )


def _name_of(fields: Fields, repository: str) -> str:
    return fields.full_name(f"{repository}.full_name") if fields.has(repository) else ""


READERS: Mapping[str, Callable[[Fields], Event]] = {
    ISSUE_COMMENT: partial(_comment, ISSUE_COMMENT, "issue"),
    REVIEW_COMMENT: partial(_comment, REVIEW_COMMENT, "pull_request"),
    REVIEW: _review,
    "issues": partial(_thread, "issues", "issue"),
    "pull_request": partial(_thread, "pull_request", "pull_request"),
    "pull_request_target": partial(_thread, "pull_request_target", "pull_request"),
    "workflow_dispatch": partial(_dispatch, "workflow_dispatch", "inputs"),
    "repository_dispatch": partial(_dispatch, "repository_dispatch", "client_payload"),
    SCHEDULE: _schedule,
    WORKFLOW_RUN: _run,
}

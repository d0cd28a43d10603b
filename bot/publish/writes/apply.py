"""Apply validated writes, thread by thread, to the current state of each thread. Existing ones are not repeated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of
from bot.contracts.outcome import Status
from bot.contracts.request import ThreadState
from bot.contracts.threads import CommentData, IssueData
from bot.contracts.writes import (
    MAX_BODY,
    MAX_TITLE,
    AddComment,
    AddLabel,
    AddReply,
    CloseThread,
    EditThread,
    RemoveLabel,
    Write,
    describe_write,
    texts_of,
)
from bot.gate.text import clean_line
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import Account
from bot.policy.writes import mismatch
from bot.publish.text.filters import safe_markdown
from bot.publish.thread.markers import WRITE, is_ours, mark, marked, read_mark
from bot.publish.thread.state import is_own, thread_state
from bot.publish.writes.validate import ValidatedWrites

_ORDER = (AddComment, AddReply, EditThread, AddLabel, RemoveLabel, CloseThread)
"""The writes on one thread, the comment first: from it a second publishing knows which later changes are its own."""


@dataclass(frozen=True, slots=True)
class AppliedWrites:
    """What was written now, and what was not, each with the reason in a few words."""

    written: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


def apply_writes(proposed: ValidatedWrites, github: GitHub) -> AppliedWrites:
    """Make the writes, thread by thread, except existing ones. Raises `PublishError` if GitHub took only some:
    publishing again makes the rest."""
    if proposed.outcome.status in (Status.FAILED, Status.REFUSED):
        why = "the run came to no good end"
        return AppliedWrites(withheld=tuple(f"{describe_write(write)}: {why}" for write in proposed.writes))
    written: list[str] = []
    withheld: list[str] = []
    failed: list[str] = []
    for number, writes in _by_thread(proposed.writes).items():
        try:
            thread = _read_thread(proposed, github, number)
            for write in writes:
                if _is_done(write, thread, proposed, github):
                    continue
                if why := _unfit(write, thread, proposed, github):
                    withheld.append(f"{describe_write(write)}: {why}")
                    continue
                _make(write, thread, proposed, github)
                written.append(describe_write(write))
        except GitHubError as error:
            failed.append(f"#{number}: {error}")
            if error.failure.rate_limited:
                break
    if failed:
        done = f"{count_of(len(written), 'write')} made before" if written else "none was made"
        raise PublishError(
            f"Not every write could be made ({done}). {failed[0]} Publishing the bundle again makes what is missing."
        )
    return AppliedWrites(tuple(written), tuple(withheld))


@dataclass(frozen=True, slots=True)
class _Thread:
    issue: IssueData
    state: ThreadState
    comments: tuple[CommentData, ...]
    me: Account | None


def _by_thread(writes: Iterable[Write]) -> Mapping[int, list[Write]]:
    threads: dict[int, list[Write]] = {}
    for write in writes:
        threads.setdefault(write.number, []).append(write)
    for there in threads.values():
        there.sort(key=lambda write: _ORDER.index(type(write)))
    return threads


def _read_thread(proposed: ValidatedWrites, github: GitHub, number: int) -> _Thread:
    request, me = proposed.outcome.request, github.me()
    issue = github.issue(request.repository, number)
    comments = tuple(github.comments(request.repository, number))
    return _Thread(issue, thread_state(issue, comments, me, request.task), comments, me)


def _is_done(write: Write, thread: _Thread, proposed: ValidatedWrites, github: GitHub) -> bool:
    labels = {label.casefold() for label in thread.issue.labels}
    match write:
        case AddComment():
            return any(
                _is_of(
                    one.body,
                    Account(one.author, one.author_id, one.author_kind),
                    thread.me,
                    _id(write, proposed),
                )
                for one in thread.comments
            )
        case AddReply():
            remarks = github.review_comments(
                proposed.outcome.request.repository, write.number, proposed.since
            )
            return any(_is_of(one.body, one.author, thread.me, _id(write, proposed)) for one in remarks)
        case AddLabel():
            return write.label.casefold() in labels
        case RemoveLabel():
            return write.label.casefold() not in labels
        case CloseThread():
            return thread.issue.state == "closed"
        case EditThread():
            title, body = _edited(write)
            return title in (None, thread.issue.title) and body in (None, thread.issue.body)


def _unfit(write: Write, thread: _Thread, proposed: ValidatedWrites, github: GitHub) -> str:
    if proposed.threads[write.number] is not thread.state.is_pull_request:
        return "it is not the kind of thread that the bundle says"
    if proposed.outcome.request.task and is_own(thread.issue, thread.me):
        return "it was opened by this bot"
    since = proposed.known.get(write.number, proposed.since)
    if why := mismatch(write, thread.state, proposed.rules, at=_now(), since=since):
        return why
    if isinstance(write, AddReply):
        thread_now = github.review_thread(proposed.outcome.request.repository, write.number, write.comment_id)
        if thread_now is None or thread_now.resolved:
            return "the conversation was resolved meanwhile" if thread_now else "the conversation is gone"
    return ""


def _make(write: Write, thread: _Thread, proposed: ValidatedWrites, github: GitHub) -> None:
    repository, number = proposed.outcome.request.repository, write.number
    match write:
        case AddComment():
            github.create_comment(repository, number, _body(write.body, write, proposed))
        case AddReply():
            github.reply_to_review_comment(
                repository, number, write.comment_id, _body(write.body, write, proposed)
            )
        case AddLabel():
            github.add_labels(repository, number, [write.label])
        case RemoveLabel():
            github.remove_label(repository, number, write.label)
        case CloseThread():
            github.close_issue(repository, number, write.reason)
        case EditThread():
            title, body = _edited(write)
            github.edit_issue(repository, number, title=title, body=body)


def _edited(write: EditThread) -> tuple[str | None, str | None]:
    """Title and text as they will be; `None` for what stays."""
    title = clean_line(write.title, MAX_TITLE) if write.title else None
    return title, safe_markdown(write.body, MAX_BODY) if write.body else None


def _body(text: str, write: Write, proposed: ValidatedWrites) -> str:
    """Through the gate, with who says it and the mark by which it is found again."""
    task = proposed.outcome.request.task
    author_note = f"Written by the maintenance task `{task}`" if task else "Written by Slash Agent"
    run = f" · [run]({proposed.links.run})" if proposed.links.run else ""
    fields = {"id": _id(write, proposed), **({"task": task} if task else {})}
    safe_body = safe_markdown(text, MAX_BODY).rstrip()
    return marked(f"{safe_body}\n\n<sub>{author_note}{run}</sub>", mark(WRITE, **fields))


def _id(write: Write, proposed: ValidatedWrites) -> str:
    """The same for the same write of the same run."""
    parts = (proposed.outcome.started_at, write.kind, write.number, *texts_of(write))
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:20]


def _is_of(body: str, author: Account, me: Account | None, write_id: str) -> bool:
    fields = read_mark(body, WRITE)
    return fields is not None and fields.get("id") == write_id and is_ours(author, me, WRITE)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""At the start of a run: report commands that GitHub's queue dropped, and close the comments of dead runs.

Jobs of one thread wait in one concurrency group. A server without `queue: max` keeps one waiting job in a group, so
the job of a newer command drops the one that waited, and nothing tells the thread. The next run in the thread does: a
command older than its own, newer than the last that a run began, and without a comment of ours was dropped. The author
is told once, and only an author who may give the command. No run is started for it: that would take a token that may
start runs in the job that runs the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Actor, Request
from bot.contracts.threads import CommentData
from bot.events.admission import Admission, tier_of
from bot.events.command import Command, parse_command
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import Account
from bot.publish.thread.comments import ThreadComment, is_own, put_comment
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    FINISHED,
    PROGRESS,
    PUSHED,
    REFUSED,
    ThreadRef,
    asking_comment,
    is_ours,
    mark,
    marked,
    may_be_ours,
    read_mark,
)
from bot.session.event.event_context import CachingReader

Say = Callable[[str], None]


def report_dropped(
    host: GitHub,
    reader: CachingReader,
    request: Request,
    thread_ref: ThreadRef,
    *,
    admission: Admission,
    watch: Say,
) -> None:
    """Report dropped commands among the comments that were read. Raises nothing: the request matters more."""
    if request.thread is None or not asking_comment(thread_ref.key)[0]:
        return
    trigger = RunTrigger(thread_ref.key, thread_ref.since)
    comments = thread_comments(reader.comments.values(), reader.threads)
    if not has_other_commands(comments, trigger):
        return
    try:
        me = host.me()
        for one, fields in open_progress_comments(comments, trigger, me):
            _close(host, thread_ref, one, fields)
        dropped_commands = [
            one
            for one in find_dropped(comments, trigger, me)
            if _is_permitted(one, reader, request, admission)
        ]
        if dropped_commands:
            conversation = replace(thread_ref, lines=0)
            put_comment(
                host,
                conversation,
                DROPPED,
                dropped_text(dropped_commands, request.thread.url),
                {KEYS_FIELD: keys_field(dropped_commands)},
            )
    except GitHubError as error:
        watch(f"note: what the queue dropped could not be told: {error}")


def existing_result_url(reader: CachingReader, thread_ref: ThreadRef, host: GitHub) -> str:
    """Return the URL of our comment that says that this request is done, or empty: GitHub may deliver an event twice,
    and people run jobs again. A label or a schedule may request the same again."""
    if not asking_comment(thread_ref.key)[0]:
        return ""
    for comment in reader.comments.values():
        author = Account(comment.author, comment.author_id, comment.author_kind)
        for kind in (PROGRESS, ANSWER, PUSHED):
            fields = read_mark(comment.body, kind) or {}
            is_done = (fields.get("request"), fields.get("result")) == (thread_ref.key, FINISHED["result"])
            if is_done and is_ours(author, host.me(), kind):
                return f"{thread_ref.url}#issuecomment-{comment.id}"
    return ""


def resolve_progress_comment(
    reader: CachingReader, thread_ref: ThreadRef, host: GitHub, started: int, watch: Say
) -> int:
    """Return the progress comment to update: `started`, which the action began for this run, or the earlier one of
    another run of the same event. Deletes the surplus comment."""
    try:
        for comment in sorted(reader.comments.values(), key=lambda one: one.id):
            author = Account(comment.author, comment.author_id, comment.author_kind)
            written = ThreadComment(comment.id, author, comment.body)
            if comment.id < started and is_own(host, thread_ref, written, PROGRESS):
                host.delete_comment(thread_ref.repository, started)
                return comment.id
    except GitHubError as error:
        watch(f"note: the second progress comment could not be deleted: {error}")
    return started


def _is_permitted(one: DroppedCommand, reader: CachingReader, request: Request, admission: Admission) -> bool:
    author = one.comment.data
    permission = reader.permission(request.repository, author.author)
    if permission.kind != "User" or (permission.user_id != author.author_id and not one.comment.on_lines):
        return False
    actor = Actor(author.author, permission.user_id, tier_of(permission))
    return admission.permits(actor, one.command.verb)


def _close(host: GitHub, thread_ref: ThreadRef, one: LocatedComment, fields: dict[str, str]) -> None:
    """Close our progress comment if its run is over."""
    run = host.workflow_run(thread_ref.repository, int(fields["run"]))
    if run.status != "completed":
        return
    text = (
        f"**Nothing more will come of this:** [its run]({run.url}) is over ({run.conclusion or 'without a result'}). "
        "`/agent retry` does it again."
    )
    if "queued" in fields:
        text = (
            f"**Not carried out:** [its run]({run.url}) was dropped or cancelled while it waited. Write the command "
            "again if it is still wanted."
        )
    body = marked(text, mark(PROGRESS, **{**fields, "state": "over"}))
    host.edit_comment(thread_ref.repository, thread_ref.number, one.data.id, body)


DROPPED = "dropped"
KEYS_FIELD = "told"
"""The field of our mark that names the commands we spoke of, by their keys."""

_KINDS = (PROGRESS, ENDED, ANSWER, REFUSED)
_MAX_REPORTED = 20
_MAX_CLOSED = 5
_SEPARATOR = "."


@dataclass(frozen=True, slots=True)
class LocatedComment:
    """A comment in the conversation or, with `on_lines`, on lines of the diff, where the author has no id."""

    data: CommentData
    on_lines: bool = False

    @property
    def key(self) -> str:
        return f"{'r' if self.on_lines else ''}{self.data.id}"

    @property
    def anchor(self) -> str:
        return f"{'discussion_r' if self.on_lines else 'issuecomment-'}{self.data.id}"


@dataclass(frozen=True, slots=True)
class RunTrigger:
    """The comment that a run is for: the key of its request and its time."""

    key: str
    at: str

    def is_before(self, one: LocatedComment) -> bool:
        """Compare comments of one kind by id, comments of different kinds by time."""
        number, on_lines = asking_comment(self.key)
        return number < one.data.id if on_lines is one.on_lines else self.at <= one.data.created_at

    def is_after(self, one: LocatedComment) -> bool:
        return one.key != self.key and not self.is_before(one)


@dataclass(frozen=True, slots=True)
class DroppedCommand:
    """A command that nobody worked on."""

    comment: LocatedComment
    command: Command


def thread_comments(
    comments: Iterable[CommentData], threads: Iterable[ReviewThread] = ()
) -> list[LocatedComment]:
    """Return the comments of a conversation and of a diff, oldest first."""
    thread_comments = [LocatedComment(data) for data in comments]
    for thread in threads:
        for one in thread.comments:
            kind = "Bot" if one.author.endswith("[bot]") else ""
            data = CommentData(one.id, one.author, 0, kind, one.body, one.created_at, one.updated_at)
            thread_comments.append(LocatedComment(data, on_lines=True))
    return sorted(thread_comments, key=lambda one: (one.data.created_at, one.on_lines, one.data.id))


def has_other_commands(comments: Iterable[LocatedComment], trigger: RunTrigger) -> bool:
    """Whether a person's command is older than the trigger."""
    return any(True for _ in _commands(comments, trigger))


def find_dropped(
    comments: Iterable[LocatedComment], trigger: RunTrigger, me: Account | None
) -> tuple[DroppedCommand, ...]:
    """Return the older commands that no run began, oldest first, at most the newest twenty."""
    comments = list(comments)
    answered: set[str] = set()
    started: list[RunTrigger] = []
    written = {one.key: one.data.created_at for one in comments}
    for one in comments:
        for kind in _KINDS:
            fields = _fields(one, kind, me)
            key = fields.get("request", "")
            answered.add(key)
            # A comment that was written while its run waited does not say that it ever began.
            if kind == PROGRESS and asking_comment(key)[0] and "queued" not in fields:
                at = written.get(key, one.data.created_at)
                started += [RunTrigger(key, at)] if trigger.is_after(_command(key, at)) else []
        answered.update(_fields(one, DROPPED, me).get(KEYS_FIELD, "").split(_SEPARATOR))
    # Where no run began before, there was nothing that a command could have waited for.
    queued = [
        one
        for one in _commands(comments, trigger)
        if started and all(at.is_before(one.comment) for at in started)
    ]
    return tuple(one for one in queued if one.comment.key not in answered)[-_MAX_REPORTED:]


def keys_field(dropped_commands: Iterable[DroppedCommand]) -> str:
    """The value of `KEYS_FIELD` for these."""
    return _SEPARATOR.join(one.comment.key for one in dropped_commands)


def open_progress_comments(
    comments: Iterable[LocatedComment], trigger: RunTrigger, me: Account | None
) -> list[tuple[LocatedComment, dict[str, str]]]:
    """Return our open progress comments for older commands, with the fields of their marks. Their runs are over: while
    this run holds the thread, no other of its group runs."""
    open_comments = []
    for one in comments:
        fields = _fields(one, PROGRESS, me)
        key = fields.get("request", "")
        open_ = fields.get("state") == "on" and fields.get("run", "").isdecimal()
        if open_ and asking_comment(key)[0] and trigger.is_after(_command(key, one.data.created_at)):
            open_comments.append((one, fields))
    return open_comments[-_MAX_CLOSED:]


def dropped_text(dropped_commands: Iterable[DroppedCommand], thread_url: str) -> str:
    """Return the comment for dropped commands, or empty."""
    rows = [
        f"- [`/agent {one.command.verb}`]({thread_url}#{one.comment.anchor}) of {one.comment.data.author}"
        for one in dropped_commands
    ]
    if not rows:
        return ""
    head = (
        "**Not carried out.** While a run is active, GitHub queues one command for each thread, and a newer "
        "command replaces the queued one. Write it again if you still need it:"
    )
    return "\n".join([head, "", *rows])


def _command(key: str, at: str) -> LocatedComment:
    """Return the comment with this key, of which only the time is known."""
    number, on_lines = asking_comment(key)
    return LocatedComment(CommentData(number, "", 0, "", "", at, at), on_lines)


def _commands(comments: Iterable[LocatedComment], trigger: RunTrigger) -> Iterator[DroppedCommand]:
    for one in comments:
        if one.data.author_kind == "Bot" or not trigger.is_after(one):
            continue
        command = parse_command(one.data.body)
        if command is not None and not command.problem:
            yield DroppedCommand(one, command)


def _fields(one: LocatedComment, kind: str, me: Account | None) -> dict[str, str]:
    """Return the fields of our mark of this kind; none in another account's comment."""
    data = one.data
    author = Account(data.author, data.author_id, data.author_kind)
    if one.on_lines and me is not None and me.login == data.author:
        author = me
    return dict(read_mark(data.body, kind) or {}) if may_be_ours(author, me, kind) else {}

"""Comments of other runs in the thread of a request: the result of the same request, its second progress comment, and
progress comments of runs that died."""

from __future__ import annotations

from collections.abc import Callable

from bot.contracts.threads import CommentData
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.thread.comments import is_own
from bot.publish.thread.history import ASKED, cost
from bot.publish.thread.markers import (
    ANSWER,
    FINISHED,
    OVER,
    PROGRESS,
    PUSHED,
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

_MAX_CLOSED = 5


def close_dead_progress(reader: CachingReader, thread_ref: ThreadRef, host: GitHub, watch: Say) -> None:
    """Close our open progress comments of earlier requests whose run is over: while this run holds the thread, no other
    of its group runs. Raises nothing: the request matters more."""
    try:
        comments = sorted(reader.comments.values(), key=lambda one: one.id)
        open_comments = [(one, fields) for one in comments if (fields := _open_fields(one, thread_ref, host))]
        for one, fields in open_comments[-_MAX_CLOSED:]:
            _close(host, thread_ref, one, fields)
    except GitHubError as error:
        watch(f"note: the progress comment of an earlier run could not be closed: {error}")


def _open_fields(comment: CommentData, thread_ref: ThreadRef, host: GitHub) -> dict[str, str]:
    """Return the fields of the mark if it is our open progress comment for another request that a comment made before
    this one; empty otherwise."""
    fields = dict(read_mark(comment.body, PROGRESS) or {})
    is_open = fields.get("state") == "on" and fields.get("run", "").isdecimal()
    key = fields.get("request", "")
    if (
        not is_open
        or key == thread_ref.key
        or not asking_comment(key)[0]
        or comment.created_at > thread_ref.since
    ):
        return {}
    return fields if may_be_ours(comment.author, host.me(), PROGRESS) else {}


def _close(host: GitHub, thread_ref: ThreadRef, comment: CommentData, fields: dict[str, str]) -> None:
    run = host.workflow_run(thread_ref.repository, int(fields["run"]))
    if run.status != "completed":
        return
    text = (
        f"**Nothing more will come of this:** [its run]({run.url}) is over ({run.conclusion or 'without a result'}). "
        "Write the command again if it is still wanted."
    )
    given_back = {} if ASKED.items() <= fields.items() else cost(0)
    body = marked(text, mark(PROGRESS, **{**fields, **OVER, **given_back}))
    host.edit_comment(thread_ref.repository, thread_ref.number, comment.id, body)


def existing_result_url(reader: CachingReader, thread_ref: ThreadRef, host: GitHub) -> str:
    """Return the URL of our comment that says that this request is done, or empty: GitHub may deliver an event twice,
    and people run jobs again. A label or a schedule may request the same again."""
    if not asking_comment(thread_ref.key)[0]:
        return ""
    for comment in reader.comments.values():
        for kind in (PROGRESS, ANSWER, PUSHED):
            fields = read_mark(comment.body, kind) or {}
            is_done = (fields.get("request"), fields.get("result")) == (thread_ref.key, FINISHED["result"])
            if is_done and is_ours(comment.author, host.me(), kind):
                return f"{thread_ref.url}#issuecomment-{comment.id}"
    return ""


def resolve_progress_comment(
    reader: CachingReader, thread_ref: ThreadRef, host: GitHub, started: int, watch: Say
) -> int:
    """Return the progress comment to update: `started`, which the action began for this run, or the earlier one of
    another run of the same event. Deletes the surplus comment."""
    try:
        for comment in sorted(reader.comments.values(), key=lambda one: one.id):
            if comment.id < started and is_own(host, thread_ref, comment, PROGRESS):
                host.delete_comment(thread_ref.repository, started)
                return comment.id
    except GitHubError as error:
        watch(f"note: the second progress comment could not be deleted: {error}")
    return started

"""Find our comments in a thread by mark and author, create and edit them.

A request in the conversation is answered there. One on lines of a diff is answered in the thread on these lines if the
token may write to pull requests and the thread still exists, else in the conversation. The progress comment is always
in the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from bot.contracts.threads import CommentData
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    FINISHED,
    OVER,
    PROGRESS,
    PUSHED,
    ThreadRef,
    mark,
    marked,
    may_be_ours,
    own_fields,
    read_mark,
)

Text = TypeVar("Text")


def created(create: Callable[[], Text], find: Callable[[], Text | None]) -> Text:
    """Return what `create` makes or, if GitHub's response was lost, what `find` finds: it may exist. Raises
    `GitHubError`."""
    try:
        return create()
    except GitHubError as error:
        existing = find() if error.failure.transient else None
        if existing is None:
            raise
        return existing


def comments_at(github: GitHub, thread_ref: ThreadRef) -> Iterator[CommentData]:
    """Yield the comments at `thread_ref`: first those of the thread on lines, each oldest first."""
    if thread_ref.lines:
        for remark in github.review_comments(thread_ref.repository, thread_ref.number, thread_ref.since):
            if remark.lines == thread_ref.lines:
                yield remark
    yield from github.comments(thread_ref.repository, thread_ref.number, thread_ref.since)


def find_comment(github: GitHub, thread_ref: ThreadRef, kind: str) -> CommentData | None:
    """Return our comment of this kind for this request, or `None`."""
    return next(
        (one for one in comments_at(github, thread_ref) if is_own(github, thread_ref, one, kind)), None
    )


def is_own(github: GitHub, thread_ref: ThreadRef, comment: CommentData, kind: str) -> bool:
    """Whether it is our comment of this kind for this request and may be overwritten."""
    fields = read_mark(comment.body, kind)
    # A comment with a plan is never overwritten: somebody may be about to approve it.
    if fields is None or fields.get("request") != thread_ref.key or "plan" in fields:
        return False
    return may_be_ours(comment.author, github.me(), kind)


def with_mark(thread_ref: ThreadRef, kind: str, text: str, fields: Mapping[str, str] | None = None) -> str:
    """Return `text` with a mark that has the request, the run and `fields`."""
    named = {"request": thread_ref.key, "run": thread_ref.run, "of": thread_ref.of, **(fields or {})}
    return marked(text, mark(kind, **{name: value for name, value in named.items() if value}))


def put_comment(
    github: GitHub, thread_ref: ThreadRef, kind: str, text: str, fields: Mapping[str, str] | None = None
) -> None:
    """Create our comment, or edit it if its text differs. `fields` go into its mark."""
    existing = find_comment(github, thread_ref, kind)
    if existing is None:
        _create(github, thread_ref, kind, with_mark(thread_ref, kind, text, fields))
    else:
        _edit(github, thread_ref, existing, kind, text, fields=fields or {})


def put_result(
    github: GitHub,
    thread_ref: ThreadRef,
    kind: str,
    text: str,
    headline: str,
    *,
    fields: Mapping[str, str] | None = None,
    if_open: bool = False,
) -> tuple[str, ...]:
    """Post `text` as the result of this request: it replaces the text of the progress comment, if there is one. On
    lines of a diff, and without a progress comment, it is a comment of `kind`; the progress comment then becomes
    `headline` with a link. Idempotent. `if_open`: not if a comment of ours has the result already.

    Returns soft failures, a sentence each. Raises `GitHubError` if the result could not be written.
    """
    own: dict[str, CommentData] = {}
    for comment in comments_at(github, thread_ref):
        for name in (PROGRESS, ENDED, ANSWER, PUSHED, kind):
            if is_own(github, thread_ref, comment, name):
                own.setdefault(name, comment)
    if if_open and any(_has_result(github, comment, name) for name, comment in own.items()):
        return ()
    progress, result = own.get(PROGRESS), own.get(kind)
    if result is None and progress is not None and not thread_ref.lines:
        try:
            _edit(github, thread_ref, progress, PROGRESS, text, fields={**OVER, **(fields or {})})
        except GitHubError as error:
            if error.status not in (403, 404) or error.failure.rate_limited:
                raise
        else:
            result, progress = progress, None
    elif result is not None:
        _edit(github, thread_ref, result, kind, text, fields=fields or {})
    if result is None:
        result = _create(github, thread_ref, kind, with_mark(thread_ref, kind, text, fields))
    stale = [(PROGRESS, progress), (ENDED, None if kind == ENDED else own.get(ENDED))]
    link = f"**{headline}** [here]({thread_ref.url}#{result.anchor})."
    try:
        for name, old in stale:
            if old is not None:
                _edit(github, thread_ref, old, name, link, fields=OVER)
    except GitHubError as error:
        return (f"The progress comment could not be finished: {error}",)
    return ()


def _has_result(github: GitHub, comment: CommentData, kind: str) -> bool:
    fields = own_fields(comment.body, comment.author, kind, github.me()) or {}
    return fields.get("result") == FINISHED["result"]


def edit_comments(
    github: GitHub,
    thread_ref: ThreadRef,
    texts: Mapping[str, str],
    fields: Mapping[str, str] | None = None,
    *,
    if_open: bool = False,
) -> frozenset[str]:
    """Edit our existing comments to the text of their kind; the thread is read once. Each mark keeps its fields and
    gets `fields`. `if_open`: not those that have the result. Returns the kinds that exist."""
    kinds = set()
    for comment in list(comments_at(github, thread_ref)):
        for kind, text in texts.items():
            if is_own(github, thread_ref, comment, kind):
                kinds.add(kind)
                if if_open and _has_result(github, comment, kind):
                    continue
                _edit(github, thread_ref, comment, kind, text, fields=fields or {})
    return frozenset(kinds)


def finish(github: GitHub, thread_ref: ThreadRef, line: str, fields: Mapping[str, str]) -> tuple[str, ...]:
    """Set the progress comment, and the comment on an earlier failure, to `line`. Returns soft failures."""
    try:
        edit_comments(github, thread_ref, {PROGRESS: line, ENDED: line}, fields)
    except GitHubError as error:
        return (f"The progress comment could not be finished: {error}",)
    return ()


def post(github: GitHub, thread_ref: ThreadRef, body: str) -> CommentData:
    """Create a comment at `thread_ref`."""
    if thread_ref.lines:
        try:
            return github.reply_to_review_comment(
                thread_ref.repository, thread_ref.number, thread_ref.lines, body
            )
        except GitHubError as error:
            if error.status not in (403, 404) or error.failure.rate_limited:
                raise
    return github.create_comment(thread_ref.repository, thread_ref.number, body)


def rewrite(github: GitHub, thread_ref: ThreadRef, comment_id: int, body: str) -> None:
    if thread_ref.lines:
        github.edit_review_comment(thread_ref.repository, comment_id, body)
    else:
        github.edit_comment(thread_ref.repository, thread_ref.number, comment_id, body)


def _edit(
    github: GitHub,
    thread_ref: ThreadRef,
    comment: CommentData,
    kind: str,
    text: str,
    *,
    fields: Mapping[str, str],
) -> None:
    body = with_mark(thread_ref, kind, text, {**(read_mark(comment.body, kind) or {}), **fields})
    if comment.body.replace("\r\n", "\n").strip() != body.strip():
        rewrite(github, replace(thread_ref, lines=comment.lines), comment.id, body)


def _create(github: GitHub, thread_ref: ThreadRef, kind: str, body: str) -> CommentData:
    return created(lambda: post(github, thread_ref, body), lambda: find_comment(github, thread_ref, kind))

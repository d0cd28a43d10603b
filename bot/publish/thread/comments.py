"""Create and edit our comments on a request.

A request in the conversation is answered there. One on lines of a diff is answered in the thread on these lines if the
token may write to pull requests and the thread still exists, else in the conversation. The progress comment is always
in the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar

from bot.contracts.threads import CommentData
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.thread.markers import ENDED, OVER, PROGRESS, ThreadRef, mark, marked
from bot.publish.thread.own_comments import OwnComment, own_comments_at

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


def _written(github: GitHub, thread_ref: ThreadRef) -> Iterator[OwnComment]:
    """Yield our comments on this request that may be overwritten. One with a plan may not: somebody may be about to
    approve it."""
    for one in own_comments_at(github, thread_ref):
        if one.key == thread_ref.key and "plan" not in one.fields:
            yield one


def find_comment(github: GitHub, thread_ref: ThreadRef, kind: str) -> OwnComment | None:
    """Return our comment of this kind for this request, or `None`."""
    return next((one for one in _written(github, thread_ref) if one.kind == kind), None)


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
        rewrite(github, thread_ref, existing, text, fields or {})


def put_result(
    github: GitHub,
    thread_ref: ThreadRef,
    kind: str,
    text: str,
    headline: str,
    *,
    fields: Mapping[str, str] | None = None,
    if_open: bool = False,
) -> list[str]:
    """Post `text` as the result of this request: it replaces the text of the progress comment, if there is one. On
    lines of a diff, and without a progress comment, it is a comment of `kind`; the progress comment then becomes
    `headline` with a link. Idempotent. `if_open`: not if a comment of ours has the result already.

    Raises `GitHubError` if the result could not be written; returns a sentence if only the progress comment could not.
    """
    own: dict[str, OwnComment] = {}
    for one in _written(github, thread_ref):
        own.setdefault(one.kind, one)
    if if_open and any(one.has_result for one in own.values()):
        return []
    progress, written = own.get(PROGRESS), own.get(kind)
    result = written.data if written else None
    if written is None and progress is not None and not thread_ref.lines:
        try:
            rewrite(github, thread_ref, progress, text, {**OVER, **(fields or {})})
        except GitHubError as error:
            if error.status not in (403, 404) or error.failure.rate_limited:
                raise
        else:
            result, progress = progress.data, None
    elif written is not None:
        rewrite(github, thread_ref, written, text, fields or {})
    if result is None:
        result = _create(github, thread_ref, kind, with_mark(thread_ref, kind, text, fields))
    link = f"**{headline}** [here]({thread_ref.url}#{result.anchor})."
    try:
        for stale in (progress, own.get(ENDED) if kind != ENDED else None):
            if stale is not None:
                rewrite(github, thread_ref, stale, link, OVER)
    except GitHubError as error:
        return [f"The progress comment could not be finished: {error}"]
    return []


def edit_comments(
    github: GitHub,
    thread_ref: ThreadRef,
    text: str,
    fields: Mapping[str, str],
    *,
    kinds: Collection[str] = (PROGRESS, ENDED),
    if_open: bool = False,
) -> bool:
    """Set our existing comments of these kinds to `text`. Each mark keeps its fields and gets `fields`. `if_open`: not
    those that have the result. Returns whether there is one."""
    own = [one for one in _written(github, thread_ref) if one.kind in kinds]
    for one in own:
        if not (if_open and one.has_result):
            rewrite(github, thread_ref, one, text, fields)
    return bool(own)


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


def rewrite(
    github: GitHub, thread_ref: ThreadRef, comment: OwnComment, text: str, fields: Mapping[str, str]
) -> None:
    """Edit the comment if its text or its mark differs. The mark keeps its fields and gets `fields`."""
    body = marked(text, mark(comment.kind, **{**comment.fields, **fields}))
    data = comment.data
    if data.body.replace("\r\n", "\n").strip() == body.strip():
        return
    if data.lines:
        github.edit_review_comment(thread_ref.repository, data.id, body)
    else:
        github.edit_comment(thread_ref.repository, thread_ref.number, data.id, body)


def _create(github: GitHub, thread_ref: ThreadRef, kind: str, body: str) -> CommentData:
    def find() -> CommentData | None:
        comment = find_comment(github, thread_ref, kind)
        return comment.data if comment else None

    return created(lambda: post(github, thread_ref, body), find)

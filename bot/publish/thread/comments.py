"""Our comments on a request: find, create and edit them.

Ours is any comment that ends with a mark of ours, if its author may have written it. A request in the conversation is
answered there. One on lines of a diff is answered in the thread on these lines if the token may write to pull requests
and the thread still exists, else in the conversation. The progress comment is always in the conversation.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from bot.contracts.threads import CommentData
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.markdown import unescaped
from bot.publish.thread.markers import (
    ENDED,
    FINISHED,
    OVER,
    PROGRESS,
    ThreadRef,
    is_ours,
    mark,
    mark_of,
    marked,
    may_be_ours,
)

Text = TypeVar("Text")
_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)")


class OwnComment(NamedTuple):
    """A comment with kind and fields of its mark. If not `ours`, it only may be, and its statements are not trusted."""

    data: CommentData
    kind: str
    fields: Mapping[str, str]
    ours: bool

    @property
    def key(self) -> str:
        """The key of the request that it answers."""
        return self.fields.get("request", "")

    @property
    def request_key(self) -> str:
        """The key of the original request, if this one repeats it."""
        return self.fields.get("of") or self.key

    @property
    def run(self) -> int:
        """The Actions run that worked on the request, 0 if unknown."""
        return self.number("run")

    @property
    def over(self) -> bool:
        """Whether that run has ended."""
        return self.fields.get("state") != "on"

    @property
    def has_result(self) -> bool:
        """Whether it is the result of the request, and really ours."""
        return self.ours and self.fields.get("result") == FINISHED["result"]

    @property
    def text(self) -> str:
        """The text above the mark."""
        return self.data.body.rpartition("<!--")[0].replace("\r\n", "\n").rstrip()

    @property
    def headline(self) -> str:
        """The first line as plain text, without links and figures."""
        line = _LINK.sub(r"\1", self.text.partition("\n")[0])
        return unescaped(line.partition(" · ")[0].replace("**", "").strip())

    @property
    def rows(self) -> tuple[str, ...]:
        """The lines of its list as plain text."""
        return tuple(unescaped(line[2:]) for line in self.text.splitlines() if line.startswith("- "))

    def number(self, name: str) -> int:
        """The number in a field, 0 if there is none."""
        digits = self.fields.get(name, "")
        return int(digits) if digits.isdecimal() and len(digits) < 20 else 0


def own_comments(
    github: GitHub, found: Iterable[CommentData], where: Callable[[Mapping[str, str]], bool] = lambda _: True
) -> Iterator[OwnComment]:
    """Yield those that are ours, or may be. Unless `where` holds for one, GitHub is not asked who we are."""
    for comment in found:
        kind, fields = mark_of(comment.body)
        if kind and where(fields) and may_be_ours(comment.author, github.me, kind):
            yield OwnComment(comment, kind, fields, is_ours(comment.author, github.me, kind))


def comments_at(github: GitHub, thread_ref: ThreadRef) -> Iterator[CommentData]:
    """Yield the comments at `thread_ref`: first those of the thread on lines, each oldest first."""
    if thread_ref.lines:
        for remark in github.review_comments(thread_ref.number, thread_ref.since):
            if remark.lines == thread_ref.lines:
                yield remark
    yield from github.comments(thread_ref.number, thread_ref.since)


def created(create: Callable[[], Text], find: Callable[[], Text | None]) -> Text:
    """Return what `create` makes or, if the response was lost, what `find` finds. Raises `GitHubError`."""
    try:
        return create()
    except GitHubError as error:
        existing = find() if error.failure.transient else None
        if existing is None:
            raise
        return existing


def _written(github: GitHub, thread_ref: ThreadRef) -> Iterator[OwnComment]:
    """Yield our comments on this request that may be overwritten: not one with a plan, which may be being approved."""
    for one in own_comments(github, comments_at(github, thread_ref)):
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
    """Set our comments of these kinds to `text`, `if_open` those without the result. Returns whether there is one."""
    own = [one for one in _written(github, thread_ref) if one.kind in kinds]
    for one in own:
        if not (if_open and one.has_result):
            rewrite(github, thread_ref, one, text, fields)
    return bool(own)


def post(github: GitHub, thread_ref: ThreadRef, body: str) -> CommentData:
    """Create a comment at `thread_ref`."""
    number = thread_ref.number
    if thread_ref.lines:
        try:
            return github.reply_to_review_comment(number, thread_ref.lines, body)
        except GitHubError as error:
            if error.status not in (403, 404) or error.failure.rate_limited:
                raise
    return github.create_comment(number, body)


def rewrite(
    github: GitHub, thread_ref: ThreadRef, comment: OwnComment, text: str, fields: Mapping[str, str]
) -> None:
    """Edit the comment if its text or its mark differs. The mark keeps its fields and gets `fields`."""
    body = marked(text, mark(comment.kind, **{**comment.fields, **fields}))
    data = comment.data
    if data.body.replace("\r\n", "\n").strip() == body.strip():
        return
    if data.lines:
        github.edit_review_comment(data.id, body)
    else:
        github.edit_comment(data.id, body)


def _create(github: GitHub, thread_ref: ThreadRef, kind: str, body: str) -> CommentData:
    def find() -> CommentData | None:
        comment = find_comment(github, thread_ref, kind)
        return comment.data if comment else None

    return created(lambda: post(github, thread_ref, body), find)

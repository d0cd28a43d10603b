"""Our comments on a request: find, create and edit them.

Ours is any comment that ends with a mark of ours, if its author may have written it. A request in the conversation is
answered there. One on lines of a diff is answered in the thread on these lines if the token may write to pull requests
and the thread still exists, else in the conversation. The progress comment is always in the conversation.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from bot.contracts.request import Request
from bot.github.client import GitHub
from bot.github.errors import HIDDEN, GitHubError
from bot.github.values import CommentData
from bot.publish.markdown import unescaped
from bot.publish.thread.markers import (
    ENDED,
    FINISHED,
    NO_FIELDS,
    OVER,
    PROGRESS,
    MarkFields,
    is_ours,
    mark,
    mark_of,
    marked,
    may_be_ours,
    number_in,
    trigger_key,
)

Text = TypeVar("Text")
_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)")


class OwnComment(NamedTuple):
    """A comment with kind and fields of its mark. If not `ours`, it only may be, and its statements are not trusted."""

    data: CommentData
    kind: str
    fields: MarkFields
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
        return number_in(self.fields.get(name, ""))


def own_comments(
    github: GitHub, found: Iterable[CommentData], where: Callable[[MarkFields], bool] = lambda _: True
) -> Iterator[OwnComment]:
    """Yield those that are ours, or may be. Unless `where` holds for one, GitHub is not asked who we are."""
    for comment in found:
        kind, fields = mark_of(comment.body)
        if kind and where(fields) and may_be_ours(comment.author, github.me, kind):
            yield OwnComment(comment, kind, fields, is_ours(comment.author, github.me, kind))


def created(create: Callable[[], Text], find: Callable[[], Text | None]) -> Text:
    """Return what `create` makes or, if the response was lost, what `find` finds. Raises `GitHubError`."""
    try:
        return create()
    except GitHubError as error:
        existing = find() if error.failure.transient else None
        if existing is None:
            raise
        return existing


class ThreadRef(NamedTuple):
    """The thread of one request, which `github` reads and writes, and the request's `key` there, see `request_key`.

    Comments before `since` (RFC 3339) are not read; empty reads all. `lines` is the first comment of the request's
    thread on lines of a diff, 0 for the conversation. `run` is the Actions run that works on the request, `of` the key
    of the request that it repeats: our marks contain both. `url` is the address of the issue or pull request. In the
    methods `fields` go into the mark of the comment.
    """

    github: GitHub
    number: int
    key: str
    since: str = ""
    lines: int = 0
    run: str = ""
    of: str = ""
    url: str = ""

    def comments(self) -> Iterator[CommentData]:
        """Yield the comments: first those of the thread on lines, each oldest first."""
        if self.lines:
            for remark in self.github.review_comments(self.number, self.since):
                if remark.lines == self.lines:
                    yield remark
        yield from self.github.comments(self.number, self.since)

    def written(self) -> Iterator[OwnComment]:
        """Yield our comments on this request that may be overwritten: not a plan, which may be being approved."""
        for one in own_comments(self.github, self.comments()):
            if one.key == self.key and "plan" not in one.fields:
                yield one

    def find(self, kind: str) -> OwnComment | None:
        """Return our comment of this kind for this request, or `None`."""
        return next((one for one in self.written() if one.kind == kind), None)

    def marked(self, kind: str, text: str, fields: MarkFields = NO_FIELDS) -> str:
        """Return `text` with a mark that has the request and the run."""
        named = {"request": self.key, "run": self.run, "of": self.of, **fields}
        return marked(text, mark(kind, **{name: value for name, value in named.items() if value}))

    def put(self, kind: str, text: str, fields: MarkFields = NO_FIELDS) -> None:
        """Create our comment, or edit it if its text differs."""
        existing = self.find(kind)
        if existing is None:
            self._create(kind, text, fields)
        else:
            self.rewrite(existing, text, fields)

    def put_result(
        self, kind: str, text: str, headline: str, fields: MarkFields = NO_FIELDS, *, if_open: bool = False
    ) -> list[str]:
        """Post `text` as the result of this request: it replaces the text of the progress comment, if there is one. On
        lines of a diff, and without a progress comment, it is a comment of `kind`; the progress comment then becomes
        `headline` with a link. Idempotent. `if_open`: not if a comment of ours has the result already.

        Raises `GitHubError` if the result could not be written; returns a sentence if only the progress comment could
        not.
        """
        own: dict[str, OwnComment] = {}
        for one in self.written():
            own.setdefault(one.kind, one)
        if if_open and any(one.has_result for one in own.values()):
            return []
        progress, written = own.get(PROGRESS), own.get(kind)
        result = written.data if written else None
        if written is None and progress is not None and not self.lines:
            try:
                self.rewrite(progress, text, {**OVER, **fields})
            except GitHubError as error:
                if error.status not in HIDDEN or error.failure.rate_limited:
                    raise
            else:
                result, progress = progress.data, None
        elif written is not None:
            self.rewrite(written, text, fields)
        if result is None:
            result = self._create(kind, text, fields)
        link = f"**{headline}** [here]({self.url}#{result.anchor})."
        try:
            for stale in (progress, own.get(ENDED) if kind != ENDED else None):
                if stale is not None:
                    self.rewrite(stale, link, OVER)
        except GitHubError as error:
            return [f"The progress comment could not be finished: {error}"]
        return []

    def edit(self, text: str, fields: MarkFields) -> bool:
        """Set our comments on the progress and the end of the run to `text`. Return whether there are any."""
        own = [one for one in self.written() if one.kind in (PROGRESS, ENDED)]
        for one in own:
            self.rewrite(one, text, fields)
        return bool(own)

    def close_progress(self, text: str, fields: MarkFields = NO_FIELDS) -> bool:
        """Set the progress comment to `text` as its last state if it still says that a run is active. Return whether it
        has that text now."""
        comment = self._replace(lines=0).find(PROGRESS)
        if comment is None or comment.over:
            return comment is not None and comment.text == text
        self.rewrite(comment, text, {**OVER, **fields})
        return True

    def post(self, body: str) -> CommentData:
        """Create a comment."""
        if self.lines:
            try:
                return self.github.reply_to_review_comment(self.number, self.lines, body)
            except GitHubError as error:
                if error.status not in HIDDEN or error.failure.rate_limited:
                    raise
        return self.github.create_comment(self.number, body)

    def rewrite(self, comment: OwnComment, text: str, fields: MarkFields) -> None:
        """Edit the comment if its text or its mark differs. The mark keeps its fields and gets `fields`."""
        body, data = marked(text, mark(comment.kind, **{**comment.fields, **fields})), comment.data
        if data.body.replace("\r\n", "\n").strip() != body.strip():
            edit = self.github.edit_review_comment if data.lines else self.github.edit_comment
            edit(data.id, body)

    def _create(self, kind: str, text: str, fields: MarkFields) -> CommentData:
        def find() -> CommentData | None:
            comment = self.find(kind)
            return comment.data if comment else None

        return created(lambda: self.post(self.marked(kind, text, fields)), find)


def thread_ref_of(request: Request, github: GitHub) -> ThreadRef | None:
    """Return the thread that waits for the result of a request, `None` if there is none, as at a terminal."""
    trigger, pull, thread = request.trigger, request.pull, request.thread
    if thread is None or trigger is None:
        return None
    key = trigger_key(trigger, pull.head_sha if pull else "")
    lines = request.anchor.id if request.anchor else 0
    return ThreadRef(github, thread.number, key, trigger.at, lines, url=thread.url)

"""Our comments in a thread: any comment that ends with a mark of ours, if its author may have written it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from bot.contracts.threads import CommentData
from bot.github.client import GitHub
from bot.publish.markdown import unescaped
from bot.publish.thread.markers import FINISHED, ThreadRef, is_ours, mark_of, may_be_ours

_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)")


@dataclass(frozen=True, slots=True)
class OwnComment:
    """One comment of ours with the kind and the fields of its mark. If not `ours`, it only may be (`may_be_ours`): it
    is written over, and its statements are not trusted."""

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
    github: GitHub,
    comments: Iterable[CommentData],
    where: Callable[[Mapping[str, str]], bool] = lambda fields: True,
) -> Iterator[OwnComment]:
    """Yield those of `comments` that are ours, or may be. `where` is about the fields of the mark. Unless it holds for
    one of them, GitHub is not asked who we are."""
    for comment in comments:
        kind, fields = mark_of(comment.body)
        if kind and where(fields) and may_be_ours(comment.author, github.me(), kind):
            yield OwnComment(comment, kind, fields, is_ours(comment.author, github.me(), kind))


def comments_at(github: GitHub, thread_ref: ThreadRef) -> Iterator[CommentData]:
    """Yield the comments at `thread_ref`: first those of the thread on lines, each oldest first."""
    if thread_ref.lines:
        for remark in github.review_comments(thread_ref.repository, thread_ref.number, thread_ref.since):
            if remark.lines == thread_ref.lines:
                yield remark
    yield from github.comments(thread_ref.repository, thread_ref.number, thread_ref.since)


def own_comments_at(github: GitHub, thread_ref: ThreadRef) -> Iterator[OwnComment]:
    """Yield our comments at `thread_ref`, of any request."""
    return own_comments(github, comments_at(github, thread_ref))

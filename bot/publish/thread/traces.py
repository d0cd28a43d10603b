"""Our comments in a thread as values: the requests, the run of each, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bot.github.client import GitHub
from bot.github.values import Account
from bot.publish.text.markdown import unescaped
from bot.publish.thread.comments import ThreadComment, comments_at
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    PROGRESS,
    asking_comment,
    is_ours,
    may_be_ours,
    read_mark,
)
from bot.publish.thread.ref import ThreadRef, tries_key

_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*\)")
_KINDS = (PROGRESS, ENDED, ANSWER)


@dataclass(frozen=True, slots=True)
class Trace:
    """One comment of ours, with its `id`. `key` is the request's, `of` the key of the one it repeats, `run` the
    Actions run that worked on it, 0 if the mark names none. `over` is false while that run may still be at it,
    `queued` true if it never began. `refused` is the account whose request was refused, 0 for every other. `ours` is
    false if it only may be ours (`may_be_ours`): its words are not believed."""

    kind: str
    key: str
    of: str
    run: int
    over: bool
    text: str
    url: str
    updated_at: str
    queued: bool = False
    id: int = 0
    refused: int = 0
    ours: bool = True

    @property
    def request_key(self) -> str:
        """The key of the request itself, also where this one repeats it."""
        return self.of or self.key

    @property
    def headline(self) -> str:
        """The first line as plain text, without links and figures."""
        line = _LINK.sub(r"\1", self.text.partition("\n")[0])
        return unescaped(line.partition(" · ")[0].replace("**", "").strip())

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of its list as plain text."""
        return tuple(unescaped(line[2:]) for line in self.text.splitlines() if line.startswith("- "))


def traces(
    github: GitHub, repository: str, number: int, *, thread_url: str, is_pull: bool, since: str = ""
) -> list[Trace]:
    """Ours in the thread of `number`, oldest first, those on lines of a pull request's diff among them. A mark
    counts only if we wrote it."""
    me = github.me()
    ref = ThreadRef(repository, number, "", since)
    results = [_trace(one, f"{thread_url}#issuecomment-{one.id}", me) for one in comments_at(github, ref)]
    if is_pull:
        results += [_trace(one, f"{thread_url}#discussion_r{one.id}", me) for one in _on_lines(github, ref)]
    return sorted((one for one in results if one is not None), key=lambda one: one.updated_at)


def newest_requests(results: Iterable[Trace], own: str) -> list[Trace]:
    """The progress comments for the requests before the one with the key `own`, newest first, without those that were
    refused: in the order in which they were begun, since an older one is edited when its plan is carried out."""
    mine = [one for one in results if one.kind == PROGRESS and not one.refused and comes_before(one.key, own)]
    return sorted(mine, key=lambda one: one.id, reverse=True)


def comes_before(key: str, own: str) -> bool:
    """Whether a request came before another one. Comments in a conversation and on lines are numbered apart."""
    (one, on_lines), (other, of_lines) = asking_comment(key), asking_comment(own)
    return one < other if one and other and on_lines == of_lines else key != own


def count_tries(github: GitHub, repository: str, number: int, head_sha: str) -> int:
    """How many runs failed checks at this head of a pull request have set off."""
    begun = tries_key(head_sha)
    results = traces(github, repository, number, thread_url="", is_pull=False)
    return len({trace.key for trace in results if trace.key.startswith(begun)})


def _on_lines(github: GitHub, thread_ref: ThreadRef) -> Iterator[ThreadComment]:
    for remark in github.review_comments(thread_ref.repository, thread_ref.number, thread_ref.since):
        yield ThreadComment(remark.id, remark.author, remark.body, remark.updated_at)


def _trace(comment: ThreadComment, url: str, me: Account | None) -> Trace | None:
    read = ((kind, read_mark(comment.body, kind)) for kind in _KINDS)
    kind, fields = next(((kind, fields) for kind, fields in read if fields is not None), ("", None))
    if fields is None or not may_be_ours(comment.author, me, kind):
        return None
    run = fields.get("run", "")
    return Trace(
        kind,
        fields.get("request", ""),
        fields.get("of", ""),
        int(run) if run.isdecimal() and len(run) < 20 else 0,
        fields.get("state") != "on",
        comment.body.rpartition("<!--")[0].rstrip(),
        url,
        comment.updated_at,
        "queued" in fields,
        comment.id,
        int(refused) if (refused := fields.get("refused", "")).isdecimal() and len(refused) < 20 else 0,
        is_ours(comment.author, me, kind),
    )

"""Texts of threads with GitHub's HTML of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from github.Issue import Issue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.PullRequestComment import PullRequestComment
from github.PullRequestReview import PullRequestReview

from bot.contracts.threads import Account, TextKind
from bot.github.accounts import account
from bot.github.transport import ApiPart, ApiRequester

T = TypeVar("T")
TextT = TypeVar("TextT", Issue, IssueComment, PullRequest, PullRequestComment, PullRequestReview)


class RenderedText(NamedTuple):
    """`author` has the id 0 for a deleted account."""

    author: Account
    body: str
    html: str


class RenderedTexts(ApiPart):
    """Reads of texts with their HTML. A text that a list or a thread has brought is not requested again."""

    def __init__(self, requester: ApiRequester) -> None:
        super().__init__(requester)
        self._texts: dict[tuple[str, TextKind, int], RenderedText] = {}

    def rendered_text(
        self, repository: str, kind: TextKind, number: int, identity: int
    ) -> RenderedText | None:
        """`number` is the thread's, `identity` the text's own; `None` where it was deleted."""
        if kept := self._texts.get((repository.lower(), kind, identity or number)):
            return kept
        path = {
            TextKind.THREAD: f"issues/{number}",
            TextKind.COMMENT: f"issues/comments/{identity}",
            TextKind.REVIEW: f"pulls/{number}/reviews/{identity}",
            TextKind.REVIEW_COMMENT: f"pulls/comments/{identity}",
        }[kind]
        # Whatever the kind, what is read of it are the fields of a comment.
        text = IssueComment(self.requester, url=f"/repos/{repository}/{path}")
        return self._parsed_or_none(lambda: _rendered_text(text.complete()))

    def _keeping(self, repository: str, kind: TextKind, parse: Callable[[TextT], T]) -> Callable[[TextT], T]:
        """Return `parse`, for an object whose text is kept."""

        def keep(found: TextT) -> T:
            identity = found.raw_data["number" if kind is TextKind.THREAD else "id"]
            if "body_html" in found.raw_data:
                self._texts[repository.lower(), kind, identity] = _rendered_text(found)
            return parse(found)

        return keep


def _rendered_text(found: TextT) -> RenderedText:
    body = found.body or ""
    # Without its HTML a text is of no use: an answer that lacks it is one of an unknown shape.
    html = (found.raw_data["body_html"] or "") if body else ""
    return RenderedText(account(found.user), body, html)

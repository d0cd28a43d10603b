"""Texts of threads with GitHub's HTML of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from bot.contracts.threads import TextKind
from bot.github.accounts import account
from bot.github.retry import Pace
from bot.github.transport import FULL, ApiTransport
from bot.github.values import Account

if TYPE_CHECKING:
    import github

T = TypeVar("T")

_MOST_KEPT = 8 << 20
"""Characters; the oldest texts are dropped first."""


@dataclass(frozen=True, slots=True)
class RenderedText:
    """`author` has the id 0 for a deleted account."""

    author: Account
    body: str
    html: str


class RenderedTexts(ApiTransport):
    """Reads of texts with their HTML. A text that a list or a thread has brought is not requested again."""

    def __init__(self, hub: github.Github, pace: Pace) -> None:
        super().__init__(hub, pace)
        self._texts: dict[tuple[str, TextKind, int], RenderedText] = {}
        self._characters = 0

    def rendered_text(
        self, repository: str, kind: TextKind, number: int, identity: int
    ) -> RenderedText | None:
        """`number` is the thread's, `identity` the text's own; `None` where it was deleted."""
        if kept := self._texts.get((repository.lower(), kind, identity or number)):
            return kept
        action = f"reading a {kind} of #{number} of {repository}"
        path = {
            TextKind.THREAD: f"issues/{number}",
            TextKind.COMMENT: f"issues/comments/{identity}",
            TextKind.REVIEW: f"pulls/{number}/reviews/{identity}",
            TextKind.REVIEW_COMMENT: f"pulls/comments/{identity}",
        }[kind]
        return self._get_or_none(action, f"/repos/{repository}/{path}", _rendered_text, FULL)

    def _keeping(self, repository: str, kind: TextKind, parse: Callable[[Any], T]) -> Callable[[Any], T]:
        """Return `parse`, for an answer of the media type `FULL` whose text is kept."""

        def keep(data: Any) -> T:
            self._keep(repository, kind, int(data["number" if kind is TextKind.THREAD else "id"]), data)
            return parse(data)

        return keep

    def _keep(self, repository: str, kind: TextKind, identity: int, data: Any) -> None:
        text = _rendered_text(data)
        self._texts[repository.lower(), kind, identity] = text
        self._characters += len(text.body) + len(text.html)
        while self._characters > _MOST_KEPT:
            oldest = self._texts.pop(next(iter(self._texts)))
            self._characters -= len(oldest.body) + len(oldest.html)


def _rendered_text(data: Any) -> RenderedText:
    body = str(data.get("body") or "")
    # Without its HTML a text is of no use: an answer that lacks it is one of an unknown shape.
    return RenderedText(account(data["user"]), body, str(data["body_html"] or "") if body else "")

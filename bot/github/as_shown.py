"""A text of a thread as it is now: who wrote it, what they wrote, and GitHub's HTML of it.

The HTML holds the signed addresses of pictures, which are the only ones that a private repository's open at.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.github.accounts import account
from bot.github.border import FULL, Border
from bot.github.values import Account


class TextKind(StrEnum):
    """Of a text; each has ids of its own. `THREAD` is the body of an issue or a pull request."""

    THREAD = "thread"
    COMMENT = "comment"
    REVIEW = "review"
    REVIEW_COMMENT = "review comment"


@dataclass(frozen=True, slots=True)
class ShownText:
    """`author` has the id 0 for a deleted account."""

    author: Account
    body: str
    html: str


class AsShown(Border):
    """Reads of one text each."""

    def as_shown(self, repository: str, kind: TextKind, number: int, identity: int) -> ShownText | None:
        """`number` is the thread's, `identity` the text's own; `None` where it was deleted."""
        doing = f"reading a {kind} of #{number} of {repository}"
        path = {
            TextKind.THREAD: f"issues/{number}",
            TextKind.COMMENT: f"issues/comments/{identity}",
            TextKind.REVIEW: f"pulls/{number}/reviews/{identity}",
            TextKind.REVIEW_COMMENT: f"pulls/comments/{identity}",
        }[kind]
        return self._one_or_none(doing, f"/repos/{repository}/{path}", _shown, FULL)


def _shown(data: Any) -> ShownText:
    return ShownText(account(data["user"]), str(data.get("body") or ""), str(data.get("body_html") or ""))

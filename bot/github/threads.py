"""The thread of an issue or pull request: what it says, and what the bot says in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.contracts.threads import CommentData, IssueData
from bot.github.accounts import account
from bot.github.bodies import fit
from bot.github.border import Border, nothing, with_query


class Threads(Border):
    """Issues, comments, reactions."""

    def issue(self, repository: str, number: int) -> IssueData:
        doing = f"reading issue {number} of {repository}"
        return self._one(doing, f"/repos/{repository}/issues/{number}", issue_data)

    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]:
        """All comments, oldest first; with `since` (RFC 3339) only those changed at or after it."""
        path = with_query(f"/repos/{repository}/issues/{number}/comments", since=since)
        return self._all(f"reading the comments of issue {number} of {repository}", path, _comment)

    def comments_of_all(self, repository: str, since: str) -> Iterator[CommentData]:
        """The comments of all issues and pull requests that changed at or after `since` (RFC 3339), newest first."""
        path = with_query(
            f"/repos/{repository}/issues/comments", since=since, sort="created", direction="desc"
        )
        return self._all(f"reading the comments of {repository}", path, _comment)

    def newest_comments(self, repository: str, number: int) -> Iterator[CommentData]:
        """All comments, newest first, a page asked for when it is wanted."""
        path = f"/repos/{repository}/issues/{number}/comments"
        return self._all_backwards(f"reading the comments of issue {number} of {repository}", path, _comment)

    def comment(self, repository: str, comment_id: int) -> CommentData | None:
        """One comment of an issue's or pull request's thread as it is now; `None` where it was deleted."""
        doing = f"reading comment {comment_id} of {repository}"
        return self._one_or_none(doing, f"/repos/{repository}/issues/comments/{comment_id}", _comment)

    def create_comment(self, repository: str, number: int, body: str) -> CommentData:
        doing = f"commenting on issue {number} of {repository}"
        path = f"/repos/{repository}/issues/{number}/comments"
        return self._send(doing, "POST", path, {"body": fit(body)}, _comment, safe=False)

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None:
        doing = f"editing comment {comment_id} of {repository}"
        path = f"/repos/{repository}/issues/comments/{comment_id}"
        self._send(doing, "PATCH", path, {"body": fit(body)}, nothing, safe=True)

    def delete_comment(self, repository: str, comment_id: int) -> None:
        doing = f"deleting comment {comment_id} of {repository}"
        self._send(
            doing, "DELETE", f"/repos/{repository}/issues/comments/{comment_id}", None, nothing, safe=True
        )

    def add_reaction(
        self, repository: str, comment_id: int, content: str, review_comment: bool = False
    ) -> None:
        """`content` is GitHub's word: `eyes`, `+1`, `-1`, `confused`, `rocket` … Once, however often it is asked."""
        kind = "pulls" if review_comment else "issues"
        doing = f"reacting to comment {comment_id} of {repository}"
        path = f"/repos/{repository}/{kind}/comments/{comment_id}/reactions"
        self._send(doing, "POST", path, {"content": content}, nothing, safe=True)


def issue_data(data: Any) -> IssueData:
    """An issue, or a pull request where the API lists it among issues."""
    author = account(data["user"])
    return IssueData(
        number=int(data["number"]),
        title=str(data["title"]),
        body=str(data.get("body") or ""),
        author=author.login,
        author_kind=author.kind,
        url=str(data["html_url"]),
        created_at=str(data["created_at"]),
        updated_at=str(data["updated_at"]),
        state=str(data["state"]),
        locked=bool(data["locked"]),
        is_pull_request=data.get("pull_request") is not None,
        labels=tuple(_label(label) for label in data.get("labels") or ()),
    )


def _label(data: Any) -> str:
    """GitHub's description allows for a bare name."""
    return str(data["name"] if isinstance(data, Mapping) else data)


def _comment(data: Any) -> CommentData:
    author = account(data["user"])
    return CommentData(
        id=int(data["id"]),
        author=author.login,
        author_id=author.id,
        author_kind=author.kind,
        body=str(data.get("body") or ""),
        created_at=str(data["created_at"]),
        updated_at=str(data["updated_at"]),
    )

"""Reviews of a pull request and their comments on lines of the diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bot.contracts.pulls import ReviewText, Side
from bot.github.accounts import account
from bot.github.bodies import fit
from bot.github.border import Border, nothing, with_query
from bot.github.values import ReviewCommentData, ReviewData, ReviewDraft


class Reviews(Border):
    """Ids of review comments and of issue comments are different name spaces: the wrong one is a 404."""

    def reviews(self, repository: str, number: int) -> Iterator[ReviewData]:
        """All reviews, oldest first."""
        doing = f"reading the reviews of pull request {number} of {repository}"
        return self._all(doing, f"/repos/{repository}/pulls/{number}/reviews", _review)

    def newest_reviews(self, repository: str, number: int) -> Iterator[ReviewText]:
        """All reviews, newest first. What was never submitted is none."""
        doing = f"reading the reviews of pull request {number} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/reviews"
        return (one for one in self._all_backwards(doing, path, _review_text) if one.submitted_at)

    def review_comments(self, repository: str, number: int, since: str = "") -> Iterator[ReviewCommentData]:
        """All comments on the diff, oldest first; with `since` only those changed at or after it."""
        path = with_query(f"/repos/{repository}/pulls/{number}/comments", since=since)
        doing = f"reading the review comments of pull request {number} of {repository}"
        return self._all(doing, path, _review_comment)

    def review_comment(self, repository: str, comment_id: int) -> ReviewCommentData | None:
        """One comment on a diff as it is now; `None` where it was deleted."""
        doing = f"reading review comment {comment_id} of {repository}"
        path = f"/repos/{repository}/pulls/comments/{comment_id}"
        return self._one_or_none(doing, path, _review_comment)

    def create_review(
        self,
        repository: str,
        number: int,
        *,
        commit_sha: str,
        body: str,
        event: str,
        comments: Sequence[ReviewDraft],
    ) -> ReviewData:
        """`event` is `COMMENT`, `REQUEST_CHANGES` or `APPROVE`. One anchor outside of the diff is a 422 for all."""
        fields = {
            "commit_id": commit_sha,
            "body": fit(body),
            "event": event,
            "comments": [_draft(comment) for comment in comments],
        }
        doing = f"reviewing pull request {number} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/reviews"
        return self._send(doing, "POST", path, fields, _review, safe=False)

    def reply_to_review_comment(
        self, repository: str, number: int, comment_id: int, body: str
    ) -> ReviewCommentData:
        """`comment_id` is the thread's first comment: GitHub takes no replies to replies."""
        doing = f"replying to review comment {comment_id} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/comments/{comment_id}/replies"
        return self._send(doing, "POST", path, {"body": fit(body)}, _review_comment, safe=False)

    def edit_review_comment(self, repository: str, comment_id: int, body: str) -> None:
        doing = f"editing review comment {comment_id} of {repository}"
        path = f"/repos/{repository}/pulls/comments/{comment_id}"
        self._send(doing, "PATCH", path, {"body": fit(body)}, nothing, safe=True)


def _draft(comment: ReviewDraft) -> dict[str, object]:
    fields: dict[str, object] = {
        "path": comment.path,
        "body": fit(comment.body),
        "line": comment.line,
        "side": str(comment.side),
    }
    # A range of one line is refused.
    if comment.start_line and comment.start_line != comment.line:
        fields |= {"start_line": comment.start_line, "start_side": str(comment.start_side)}
    return fields


def _review(data: Any) -> ReviewData:
    return ReviewData(
        id=int(data["id"]),
        author=account(data["user"]),
        body=str(data.get("body") or ""),
        state=str(data["state"]),
        commit_sha=str(data.get("commit_id") or ""),
        submitted_at=str(data.get("submitted_at") or ""),
        url=str(data.get("html_url") or ""),
    )


def _review_text(data: Any) -> ReviewText:
    return ReviewText(
        id=int(data["id"]),
        author=account(data["user"]).login,
        association=str(data.get("author_association") or ""),
        state=str(data["state"]),
        body=str(data.get("body") or ""),
        submitted_at=str(data.get("submitted_at") or ""),
    )


def _review_comment(data: Any) -> ReviewCommentData:
    line = int(data.get("line") or 0)
    return ReviewCommentData(
        id=int(data["id"]),
        author=account(data["user"]),
        body=str(data.get("body") or ""),
        path=str(data["path"]),
        line=line,
        start_line=int(data.get("start_line") or 0) if line else 0,
        side=Side(data.get("side") or "RIGHT"),
        commit_sha=str(data.get("commit_id") or ""),
        hunk=str(data.get("diff_hunk") or ""),
        in_reply_to=int(data.get("in_reply_to_id") or 0),
        review_id=int(data.get("pull_request_review_id") or 0),
        created_at=str(data["created_at"]),
        updated_at=str(data["updated_at"]),
        outdated=not line and data.get("subject_type") != "file",
        url=str(data.get("html_url") or ""),
    )

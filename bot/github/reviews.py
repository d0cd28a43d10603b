"""Reviews of a pull request and their comments on lines of the diff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from bot.contracts.pulls import Comment, ReviewText, ReviewThread, Side
from bot.contracts.threads import TextKind
from bot.github.accounts import GHOST, account
from bot.github.bodies import fit
from bot.github.errors import GitHubError
from bot.github.rendered import RenderedTexts
from bot.github.transport import FULL, GraphQL, ignore_response, parsed, with_query
from bot.github.values import ReviewCommentData, ReviewData, ReviewDraft


class Reviews(RenderedTexts):
    """Ids of review comments and of issue comments are separate: the other kind's id is a 404."""

    def reviews(self, repository: str, number: int) -> Iterator[ReviewData]:
        """All reviews, oldest first."""
        action = f"reading the reviews of pull request {number} of {repository}"
        return self._list(action, f"/repos/{repository}/pulls/{number}/reviews", _review)

    def newest_reviews(self, repository: str, number: int) -> Iterator[ReviewText]:
        """All submitted reviews, newest first."""
        action = f"reading the reviews of pull request {number} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/reviews"
        parse = self._keeping(repository, TextKind.REVIEW, _review_text)
        return (one for one in self._list_backwards(action, path, parse, FULL) if one.submitted_at)

    def review_comments(self, repository: str, number: int, since: str = "") -> Iterator[ReviewCommentData]:
        """All comments on the diff, oldest first; with `since` only those changed at or after it."""
        path = with_query(f"/repos/{repository}/pulls/{number}/comments", since=since)
        action = f"reading the review comments of pull request {number} of {repository}"
        return self._list(action, path, _review_comment)

    def review_comment(self, repository: str, comment_id: int) -> ReviewCommentData | None:
        """The current text of a review comment; `None` if it was deleted."""
        action = f"reading review comment {comment_id} of {repository}"
        path = f"/repos/{repository}/pulls/comments/{comment_id}"
        parse = self._keeping(repository, TextKind.REVIEW_COMMENT, _review_comment)
        return self._get_or_none(action, path, parse, FULL)

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
        action = f"reviewing pull request {number} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/reviews"
        return self._write(action, "POST", path, fields, _review, safe=False)

    def reply_to_review_comment(
        self, repository: str, number: int, comment_id: int, body: str
    ) -> ReviewCommentData:
        """`comment_id` is the thread's first comment: GitHub takes no replies to replies."""
        action = f"replying to review comment {comment_id} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/comments/{comment_id}/replies"
        return self._write(action, "POST", path, {"body": fit(body)}, _review_comment, safe=False)

    def edit_review_comment(self, repository: str, comment_id: int, body: str) -> None:
        action = f"editing review comment {comment_id} of {repository}"
        path = f"/repos/{repository}/pulls/comments/{comment_id}"
        self._write(action, "PATCH", path, {"body": fit(body)}, ignore_response, safe=True)


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


_THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 50, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          isResolved isOutdated path line startLine diffSide subjectType
          comments(first: 100) {
            pageInfo { hasNextPage }
            nodes {
              fullDatabaseId author { __typename login } body bodyHTML createdAt updatedAt diffHunk
            }
          }
        }
      }
    }
  }
}
"""


class ReviewThreads(Reviews, GraphQL):
    """Falls back to REST if the token may not use GraphQL; `resolved` is false then."""

    def review_threads(self, repository: str, number: int) -> list[ReviewThread]:
        """All review threads in GitHub's order, including resolved ones."""
        try:
            return self._threads_by_graphql(repository, number)
        except GitHubError as error:
            # 400: an older GitHub Enterprise that does not know a field.
            if error.status not in (400, 403, 404):
                raise
        return self._grouped(repository, number)

    def review_thread(self, repository: str, number: int, comment_id: int) -> ReviewThread | None:
        """The thread that holds this comment."""
        for thread in self.review_threads(repository, number):
            if any(comment.id == comment_id for comment in thread.comments):
                return thread
        return None

    def _threads_by_graphql(self, repository: str, number: int) -> list[ReviewThread]:
        owner, _, name = repository.partition("/")
        action = f"reading the review threads of pull request {number} of {repository}"
        nodes: list[Any] = []
        after: str | None = ""
        while after is not None:
            variables = {"owner": owner, "name": name, "number": number, "after": after or None}
            data = self._query(action, _THREADS, variables)
            page, after = parsed(action, _page, data)
            nodes += page
        parse = self._keeping_comments(repository)
        threads = parsed(action, lambda rows: [parse(node) for node in rows if _comments(node)], nodes)
        if not any(node["comments"]["pageInfo"]["hasNextPage"] for node in nodes):
            return threads
        # More than a hundred comments in one thread: REST has them all.
        whole = {one.id: one.comments for one in self._grouped(repository, number)}
        return [replace(one, comments=whole.get(one.id, one.comments)) for one in threads]

    def _keeping_comments(self, repository: str) -> Callable[[Any], ReviewThread]:
        def parse(node: Any) -> ReviewThread:
            for one in _comments(node):
                # GraphQL names no author by id: whoever needs one reads the text itself.
                data = {"body": one["body"], "body_html": one["bodyHTML"], "user": None}
                self._keep(repository, TextKind.REVIEW_COMMENT, int(one["fullDatabaseId"]), data)
            return _thread(node)

        return parse

    def _grouped(self, repository: str, number: int) -> list[ReviewThread]:
        """The threads by REST, with the HTML of their comments."""
        path = f"/repos/{repository}/pulls/{number}/comments"
        action = f"reading the review comments of pull request {number} of {repository}"
        parse = self._keeping(repository, TextKind.REVIEW_COMMENT, _review_comment)
        return grouped(list(self._list(action, path, parse, media=FULL)))


def grouped(comments: list[ReviewCommentData]) -> list[ReviewThread]:
    """Group REST's flat list into threads. If a thread's first comment was deleted, the next one identifies it."""
    threads: dict[int, list[ReviewCommentData]] = {}
    for comment in comments:
        threads.setdefault(comment.in_reply_to or comment.id, []).append(comment)
    return [_of_rest(members) for members in threads.values()]


def _of_rest(members: list[ReviewCommentData]) -> ReviewThread:
    first = members[0]
    return ReviewThread(
        id=first.id,
        path=first.path,
        line=first.line,
        start_line=first.start_line,
        side=first.side,
        hunk=first.hunk,
        comments=tuple(Comment(c.id, c.author.login, c.body, c.created_at, c.updated_at) for c in members),
        outdated=first.outdated,
    )


def _page(data: Any) -> tuple[list[Any], str | None]:
    """The nodes and the cursor of the next page, `None` on the last one."""
    threads = data["repository"]["pullRequest"]["reviewThreads"]
    info = threads["pageInfo"]
    return list(threads["nodes"]), str(info["endCursor"]) if info["hasNextPage"] else None


def _comments(node: Any) -> list[Any]:
    """Return `None` if all comments were deleted."""
    return list(node["comments"]["nodes"])


def _thread(node: Any) -> ReviewThread:
    comments = _comments(node)
    line = int(node["line"] or 0) if node["subjectType"] != "FILE" else 0
    return ReviewThread(
        id=int(comments[0]["fullDatabaseId"]),
        path=str(node["path"]),
        line=line,
        start_line=int(node["startLine"] or 0) if line else 0,
        side=Side(node["diffSide"]),
        hunk=str(comments[0]["diffHunk"] or ""),
        comments=tuple(_comment(comment) for comment in comments),
        resolved=bool(node["isResolved"]),
        outdated=bool(node["isOutdated"]),
    )


def _comment(data: Any) -> Comment:
    return Comment(
        id=int(data["fullDatabaseId"]),
        author=_login(data["author"]),
        body=str(data["body"] or ""),
        created_at=str(data["createdAt"]),
        updated_at=str(data["updatedAt"]),
    )


def _login(author: Any) -> str:
    """Return the login as in REST: a bot's with `[bot]`, which GraphQL leaves out; null is a deleted account."""
    if not author:
        return GHOST.login
    login = str(author["login"])
    return f"{login}[bot]" if author["__typename"] == "Bot" and not login.endswith("[bot]") else login

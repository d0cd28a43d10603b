"""Conversations on lines of a pull request's diff, with whether somebody resolved them, which only GraphQL tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.contracts.comments import Comment
from bot.contracts.pulls import ReviewThread, Side
from bot.github.accounts import GHOST
from bot.github.border import understood
from bot.github.errors import GitHubError
from bot.github.graphql import GraphQL
from bot.github.reviews import Reviews
from bot.github.values import ReviewCommentData

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
            nodes { fullDatabaseId author { __typename login } body createdAt updatedAt diffHunk }
          }
        }
      }
    }
  }
}
"""


class ReviewThreads(Reviews, GraphQL):
    """Where GraphQL is refused to the token, REST tells the same but `resolved`, which is false then."""

    def review_threads(self, repository: str, number: int) -> list[ReviewThread]:
        """All of them, in GitHub's order, resolved ones too."""
        try:
            return self._asked_by_graphql(repository, number)
        except GitHubError as error:
            # 400: an older GitHub Enterprise that does not know a field.
            if error.status not in (400, 403, 404):
                raise
        return grouped(list(self.review_comments(repository, number)))

    def review_thread(self, repository: str, number: int, comment_id: int) -> ReviewThread | None:
        """The thread that holds this comment."""
        for thread in self.review_threads(repository, number):
            if any(comment.id == comment_id for comment in thread.comments):
                return thread
        return None

    def _asked_by_graphql(self, repository: str, number: int) -> list[ReviewThread]:
        owner, _, name = repository.partition("/")
        doing = f"reading the review threads of pull request {number} of {repository}"
        nodes: list[Any] = []
        after: str | None = ""
        while after is not None:
            variables = {"owner": owner, "name": name, "number": number, "after": after or None}
            data = self._query(doing, _THREADS, variables)
            page, after = understood(doing, _page, data)
            nodes += page
        threads = understood(doing, lambda found: [_thread(node) for node in found if _comments(node)], nodes)
        if not any(node["comments"]["pageInfo"]["hasNextPage"] for node in nodes):
            return threads
        # More than a hundred comments in one thread: REST has them all.
        whole = {one.id: one.comments for one in grouped(list(self.review_comments(repository, number)))}
        return [replace(one, comments=whole.get(one.id, one.comments)) for one in threads]


def grouped(comments: list[ReviewCommentData]) -> list[ReviewThread]:
    """REST's flat list as threads. Where a thread's first comment was deleted, the next one stands for it."""
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
    """The nodes, and where the next page begins; `None` on the last one."""
    threads = data["repository"]["pullRequest"]["reviewThreads"]
    info = threads["pageInfo"]
    return list(threads["nodes"]), str(info["endCursor"]) if info["hasNextPage"] else None


def _comments(node: Any) -> list[Any]:
    """None where all of them were deleted."""
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
    """As REST writes it: a bot's with `[bot]`, which GraphQL leaves out; null is a deleted account."""
    if not author:
        return GHOST.login
    login = str(author["login"])
    return f"{login}[bot]" if author["__typename"] == "Bot" and not login.endswith("[bot]") else login

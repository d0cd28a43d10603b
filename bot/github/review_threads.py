"""Conversations on lines of a pull request's diff, with whether somebody resolved them, which only GraphQL tells."""

from __future__ import annotations

from typing import Any

from bot.contracts.comments import Comment
from bot.contracts.pulls import ReviewThread, Side
from bot.github.accounts import GHOST
from bot.github.border import understood
from bot.github.errors import GitHubError
from bot.github.graphql import GraphQL
from bot.github.reviews import Reviews
from bot.github.values import ReviewCommentData

_COMMENTS = """
  pageInfo { hasNextPage endCursor }
  nodes { fullDatabaseId author { __typename login } body createdAt updatedAt diffHunk }
"""
_THREADS = f"""
query($owner: String!, $name: String!, $number: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $number) {{
      reviewThreads(first: 50, after: $after) {{
        pageInfo {{ hasNextPage endCursor }}
        nodes {{
          id isResolved isOutdated path line startLine diffSide subjectType
          comments(first: 100) {{ {_COMMENTS} }}
        }}
      }}
    }}
  }}
}}
"""
_MORE_COMMENTS = f"""
query($thread: ID!, $after: String) {{
  node(id: $thread) {{
    ... on PullRequestReviewThread {{ comments(first: 100, after: $after) {{ {_COMMENTS} }} }}
  }}
}}
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
        threads: list[ReviewThread] = []
        after: str | None = None
        while True:
            variables = {"owner": owner, "name": name, "number": number, "after": after}
            data = self._query(doing, _THREADS, variables)
            page = understood(doing, lambda d: d["repository"]["pullRequest"]["reviewThreads"], data)
            for node in page["nodes"]:
                comments = [*node["comments"]["nodes"], *self._further_comments(doing, node)]
                thread = understood(doing, lambda n, c=comments: _thread(n, c), node)  # type: ignore[misc]  # mypy cannot type a lambda's default
                if thread is not None:
                    threads.append(thread)
            after = _next(page)
            if after is None:
                return threads

    def _further_comments(self, doing: str, node: Any) -> list[Any]:
        """Those after the first hundred."""
        found: list[Any] = []
        after = _next(node["comments"])
        while after is not None:
            data = self._query(doing, _MORE_COMMENTS, {"thread": node["id"], "after": after})
            page = understood(doing, lambda d: d["node"]["comments"], data)
            found += page["nodes"]
            after = _next(page)
        return found


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


def _thread(node: Any, comments: list[Any]) -> ReviewThread | None:
    """`None` for a thread whose comments are all gone."""
    if not comments:
        return None
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


def _next(page: Any) -> str | None:
    info = page["pageInfo"]
    return str(info["endCursor"]) if info["hasNextPage"] else None

"""Reviews of a pull request and their comments on lines of the diff."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from github.Commit import Commit
from github.GithubObject import NotSet
from github.PullRequest import ReviewComment
from github.PullRequestComment import PullRequestComment
from github.PullRequestReview import PullRequestReview

from bot.contracts.pulls import Comment, ReviewText, ReviewThread, Side
from bot.github.accounts import account, graphql_account
from bot.github.text_limits import fit
from bot.github.threads import RenderedText, RenderedTexts
from bot.github.transport import stamp, unchanged
from bot.github.values import GHOST, CommentData, TextKind


@dataclass(frozen=True)
class ReviewCommentData(CommentData):
    """One comment on lines of a diff.

    `line` is 0 for a whole file, and where the line is gone (`outdated`); `start_line` is 0 for one line.
    `in_reply_to` is the id of the thread's first comment, 0 for that comment itself; `review` is the id of its review.
    """

    path: str
    line: int
    start_line: int
    side: Side
    in_reply_to: int
    outdated: bool = False
    review: int = 0

    @property
    def lines(self) -> int:
        return self.in_reply_to

    @property
    def anchor(self) -> str:
        return f"discussion_r{self.id}"


def draft_comment(
    path: str, body: str, line: int, side: Side = Side.RIGHT, start_line: int = 0
) -> ReviewComment:
    """Return a comment of a review that is to be made. GitHub takes all of a review's comments or none."""
    draft = ReviewComment(path=path, body=fit(body), line=line, side=str(side))
    if start_line not in (0, line):  # a range of one line is refused
        draft |= {"start_line": start_line, "start_side": str(side)}
    return draft


_THREADS = """
query reviewThreads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path line startLine diffSide subjectType
          comments(first: 100) {
            nodes { fullDatabaseId author { __typename login } body bodyHTML createdAt updatedAt diffHunk }
          }
        }
      }
    }
  }
}
"""


class Reviews(RenderedTexts):
    """Ids of review comments and of issue comments are separate: the other kind's id is a 404."""

    def reviews(self, number: int) -> Iterator[PullRequestReview]:
        """All reviews, oldest first."""
        return self._each(self.source.get_pull(number).get_reviews(), unchanged)

    def newest_reviews(self, number: int) -> Iterator[ReviewText]:
        """All submitted reviews, newest first."""
        path = f"{self.root}/pulls/{number}/reviews"
        reviews = self.requester.newest_first(PullRequestReview, path)
        parse = self._keeping(TextKind.REVIEW, _review_text)
        return (one for one in self._each(reviews, parse) if one.submitted_at)

    def review_comments(self, number: int, since: str = "") -> Iterator[ReviewCommentData]:
        """All comments on the diff, oldest first; with `since` only those changed at or after it."""
        pull = self.source.get_pull(number)
        comments = pull.get_review_comments(since=datetime.fromisoformat(since) if since else NotSet)
        return self._each(comments, self._keeping(TextKind.REVIEW_COMMENT, _review_comment))

    def create_review(
        self, number: int, *, sha: str, body: str, event: str, drafts: list[ReviewComment]
    ) -> PullRequestReview:
        """`event` is `COMMENT`, `REQUEST_CHANGES` or `APPROVE`. One anchor outside of the diff is a 422 for all."""
        create = self.source.get_pull(number).create_review
        commit = Commit(self.requester, {}, {"sha": sha})
        return self._parsed(lambda: unchanged(create(commit, body, event, drafts)))

    def reply_to_review_comment(self, number: int, comment_id: int, body: str) -> ReviewCommentData:
        """`comment_id` is the thread's first comment: GitHub takes no replies to replies."""
        reply = self.source.get_pull(number).create_review_comment_reply
        return self._parsed(lambda: _review_comment(reply(comment_id, body)))

    def edit_review_comment(self, comment_id: int, body: str) -> None:
        self._review_comment(comment_id).edit(body)

    def edit_review(self, number: int, review_id: int, body: str) -> None:
        self._review(number, review_id).edit(body)

    def dismiss_review(self, number: int, review_id: int, message: str) -> None:
        """Only one that approved or requested changes can be dismissed."""
        self._review(number, review_id).dismiss(message)

    def _review(self, number: int, review_id: int) -> PullRequestReview:
        """PyGithub reads a review to get its address, which is known."""
        address = f"{self.root}/pulls/{number}"
        return PullRequestReview(self.requester, {}, {"id": review_id, "pull_request_url": address})

    def _review_comment(self, comment_id: int) -> PullRequestComment:
        # The pull request's number is no part of a comment's address.
        return self.source.get_pull(0).get_review_comment(comment_id)

    def review_threads(self, number: int) -> list[ReviewThread]:
        """All review threads in GitHub's order, including resolved ones, each with its first 100 comments."""
        with self.requester.known_shape():
            nodes = [node for node in self._thread_nodes(number) if node["comments"]["nodes"]]
            for one in (one for node in nodes for one in node["comments"]["nodes"]):
                # GraphQL names no author by id: whoever needs one reads the text itself.
                text = RenderedText(GHOST, str(one["body"] or ""), str(one["bodyHTML"] or ""))
                self._texts[TextKind.REVIEW_COMMENT, int(one["fullDatabaseId"])] = text
            return [_thread(node) for node in nodes]

    def review_thread(self, number: int, comment_id: int) -> ReviewThread | None:
        """The thread that holds this comment."""
        threads = self.review_threads(number)
        return next((one for one in threads if any(each.id == comment_id for each in one.comments)), None)

    def unresolved_threads(self, number: int) -> dict[int, str]:
        """GraphQL's id of each unresolved review thread, by the id of its first comment."""
        nodes = self._thread_nodes(number)
        unresolved = [(one["id"], one["comments"]["nodes"]) for one in nodes if not one["isResolved"]]
        return {int(comments[0]["fullDatabaseId"]): str(id) for id, comments in unresolved if comments}

    def resolve_thread(self, number: int, thread_id: str) -> None:
        """`thread_id` is that of GraphQL. Actions' own token needs `contents: write` for it."""
        self._mutate(f"resolve a review thread of #{number}", "resolveReviewThread", threadId=thread_id)

    def _thread_nodes(self, number: int) -> list[Any]:
        nodes: list[Any] = []
        info: dict[str, Any] = {"hasNextPage": True, "endCursor": None}
        with self.requester.known_shape():
            while info["hasNextPage"]:
                answer = self._query(_THREADS, number=number, after=info["endCursor"])
                threads = answer["pullRequest"]["reviewThreads"]
                nodes += threads["nodes"]
                info = threads["pageInfo"]
        return nodes


def _review_text(review: PullRequestReview) -> ReviewText:
    return ReviewText(
        id=review.id,
        author=account(review.user).login,
        association=review.author_association or "",
        state=review.state,
        body=review.body or "",
        submitted_at=stamp(review.submitted_at),
    )


def _review_comment(comment: PullRequestComment) -> ReviewCommentData:
    line = comment.line or 0
    return ReviewCommentData(
        id=comment.id,
        author=account(comment.user),
        body=comment.body or "",
        path=comment.path,
        line=line,
        start_line=(comment.start_line or 0) if line else 0,
        side=Side(comment.side or "RIGHT"),
        in_reply_to=comment.in_reply_to_id or 0,
        created_at=stamp(comment.created_at),
        updated_at=stamp(comment.updated_at),
        outdated=not line and comment.subject_type != "file",
        review=comment.pull_request_review_id or 0,
    )


def _thread(node: Any) -> ReviewThread:
    comments = node["comments"]["nodes"]
    line = int(node["line"] or 0) if node["subjectType"] != "FILE" else 0
    return ReviewThread(
        id=int(comments[0]["fullDatabaseId"]),
        path=str(node["path"]),
        line=line,
        start_line=int(node["startLine"] or 0) if line else 0,
        side=Side(node["diffSide"]),
        hunk=str(comments[0]["diffHunk"] or ""),
        comments=tuple(
            Comment(
                id=int(one["fullDatabaseId"]),
                author=graphql_account(one["author"]).login,
                body=str(one["body"] or ""),
                created_at=str(one["createdAt"]),
                updated_at=str(one["updatedAt"]),
            )
            for one in comments
        ),
        resolved=bool(node["isResolved"]),
        outdated=bool(node["isOutdated"]),
    )

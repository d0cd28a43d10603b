"""Reviews as people write them on the web."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.forge import reviews
from bot.forge.anchoring import Wanted, anchor
from bot.forge.anchors import Side
from bot.forge.by_hand.base import Base
from bot.forge.reviews import Draft, ReviewComment
from bot.forge.state import Issue, Pull, Repository


class Reviews(Base):
    """A place that is not in the diff is an `Unanchored`."""

    def review(
        self,
        repo: str,
        number: int,
        login: str,
        body: str = "",
        *,
        state: str = "COMMENTED",
        comments: Sequence[Mapping[str, Any]] = (),
        at: str | None = None,
    ) -> int:
        """Review a pull request. Each of `comments` has `path`, `body`, `line` and what `Wanted` takes besides.

        `state`: APPROVED, CHANGES_REQUESTED, COMMENTED or PENDING. Returns the review's id.
        """
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            drafts = [_draft(repository, pull, Wanted(**comment)) for comment in comments]
            author = self._user(login)
            review = reviews.add_review(self._state, pull, author, body, state, pull.head_sha, at)
            for draft in drafts:
                reviews.add_thread(self._state, repository, issue, pull, review, draft)
            return review.id

    def review_comment(
        self,
        repo: str,
        number: int,
        login: str,
        path: str,
        line: int | None,
        body: str,
        *,
        side: Side = "RIGHT",
        start_line: int | None = None,
        at: str | None = None,
    ) -> int:
        """Begin a thread on a line of the diff; `line` None is the whole file. Returns the comment's id."""
        wanted = Wanted(path, body, line, side, start_line, whole_file=line is None)
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            draft = _draft(repository, pull, wanted)
            author = self._user(login)
            review = reviews.add_review(self._state, pull, author, "", "COMMENTED", pull.head_sha, at)
            return reviews.add_thread(self._state, repository, issue, pull, review, draft).id

    def reply(self, repo: str, comment_id: int, login: str, body: str, *, at: str | None = None) -> int:
        """Answer in the thread of any of its comments. Returns the new comment's id."""
        with self._state.lock:
            repository, issue, pull, comment = self._review_comment(repo, comment_id)
            author = self._user(login)
            review = reviews.add_review(self._state, pull, author, "", "COMMENTED", pull.head_sha, at)
            thread = comment.thread
            return reviews.add_reply(self._state, repository, issue, pull, review, thread, body).id

    def edit_review_comment(self, repo: str, comment_id: int, body: str, *, at: str | None = None) -> None:
        with self._state.lock:
            *_, comment = self._review_comment(repo, comment_id)
            comment.body, comment.updated_at = body, at or self._state.now()

    def delete_review_comment(self, repo: str, comment_id: int) -> None:
        with self._state.lock:
            repository, _, _, comment = self._review_comment(repo, comment_id)
            reviews.remove_comment(repository, comment)

    def resolve(self, repo: str, comment_id: int, login: str, *, resolved: bool = True) -> None:
        """Resolve the thread that holds this comment, or open it again."""
        with self._state.lock:
            *_, comment = self._review_comment(repo, comment_id)
            comment.thread.resolved = resolved
            comment.thread.resolved_by = self._user(login) if resolved else None

    def _review_comment(self, repo: str, comment_id: int) -> tuple[Repository, Issue, Pull, ReviewComment]:
        repository = self._repository(repo)
        return repository, *repository.review_comments[comment_id]


def _draft(repository: Repository, pull: Pull, wanted: Wanted) -> Draft:
    base = reviews.base_of(repository, pull, pull.head_sha)
    return anchor(repository.git, base, pull.head_sha, wanted)

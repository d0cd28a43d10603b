"""What a pull request's page tells in order: comments, and reviews with the threads they began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.forge import reviews
from bot.forge.reviews import Place, Review, ReviewComment, Thread
from bot.forge.state import Comment, Issue, Pull, Repository
from bot.forge.web.hunks import Line, lines

# Of a thread's hunk, the last lines are shown, as on GitHub.
_SHOWN = 4
VERDICTS = {
    "APPROVED": "approved these changes",
    "CHANGES_REQUESTED": "requested changes",
    "COMMENTED": "reviewed",
    "DISMISSED": "reviewed, and was dismissed",
}


@dataclass(frozen=True, slots=True)
class ShownThread:
    """`place` None: the lines it was about have changed, or it is about the file as a whole."""

    thread: Thread
    place: Place | None
    lines: Sequence[Line]
    comments: Sequence[ReviewComment]

    @property
    def outdated(self) -> bool:
        return self.place is None and not self.thread.on_file


@dataclass(frozen=True, slots=True)
class ShownReview:
    review: Review
    verdict: str
    threads: Sequence[ShownThread]


def entries(repo: Repository, issue: Issue, pull: Pull) -> list[Comment | ShownReview]:
    """Oldest first. A review that only answers in threads of others is not shown on its own."""
    began: dict[int, list[ShownThread]] = {}
    for thread in pull.threads:
        first = thread.comments[0].review
        if first.submitted_at:
            began.setdefault(first.id, []).append(_shown(repo, pull, thread))
    found: list[Comment | ShownReview] = [*issue.comments]
    for review in pull.reviews:
        threads = began.get(review.id, [])
        if review.submitted_at and (review.body or threads or review.state != "COMMENTED"):
            found.append(ShownReview(review, VERDICTS.get(review.state, "reviewed"), threads))
    return sorted(found, key=_when)


def _shown(repo: Repository, pull: Pull, thread: Thread) -> ShownThread:
    rows = lines(thread.hunk)[1:][-_SHOWN:] if thread.hunk else []
    said = [comment for comment in thread.comments if comment.review.submitted_at]
    return ShownThread(thread, reviews.current(repo, pull, thread), rows, said)


def _when(entry: Comment | ShownReview) -> tuple[str, int]:
    if isinstance(entry, ShownReview):
        return entry.review.submitted_at or "", entry.review.id
    return entry.created_at, entry.id

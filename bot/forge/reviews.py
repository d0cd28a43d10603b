"""Reviews of a pull request: what was said, on which lines, and which of these are still there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.forge import anchors, pulls
from bot.forge.anchors import Side

if TYPE_CHECKING:
    from bot.forge.state import Issue, Pull, Reaction, Repository, State, User


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of the pull request's diff; `start_line` None is one line alone."""

    line: int
    side: Side
    start_line: int | None
    start_side: Side | None
    position: int


@dataclass(slots=True, eq=False)
class Thread:
    """A conversation on lines of a diff: of `base`..`commit`, as they were. `place` None is the file as a whole."""

    id: int
    path: str
    base: str
    commit: str
    place: Place | None
    hunk: str
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: User | None = None
    resolved: bool = False

    @property
    def on_file(self) -> bool:
        return self.place is None


@dataclass(slots=True, eq=False)
class ReviewComment:
    """`author` None is somebody who deleted their account."""

    id: int
    author: User | None
    body: str
    created_at: str
    updated_at: str
    review: Review
    thread: Thread
    reply_to: int | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Review:
    """`submitted_at` None is still being written (state PENDING): its comments are its author's alone."""

    id: int
    author: User | None
    body: str
    state: str
    commit: str
    submitted_at: str | None
    comments: list[ReviewComment] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment that will begin a thread, its place already checked against the diff."""

    path: str
    body: str
    place: Place | None
    hunk: str = ""


def add_review(
    state: State, pull: Pull, author: User, body: str, verdict: str, commit: str, at: str | None = None
) -> Review:
    when = None if verdict == "PENDING" else at or state.now()
    review = Review(state.next_id(), author, body, verdict, commit, when)
    pull.reviews.append(review)
    return review


def add_thread(
    state: State, repository: Repository, issue: Issue, pull: Pull, review: Review, draft: Draft
) -> ReviewComment:
    base = base_of(repository, pull, review.commit)
    thread = Thread(state.next_id(), draft.path, base, review.commit, draft.place, draft.hunk)
    pull.threads.append(thread)
    return _add(state, repository, issue, pull, review, thread, draft.body)


def add_reply(
    state: State,
    repository: Repository,
    issue: Issue,
    pull: Pull,
    review: Review,
    thread: Thread,
    body: str,
) -> ReviewComment:
    comment = _add(state, repository, issue, pull, review, thread, body)
    comment.reply_to = thread.comments[0].id
    return comment


def _add(
    state: State, repository: Repository, issue: Issue, pull: Pull, review: Review, thread: Thread, body: str
) -> ReviewComment:
    now = review.submitted_at or state.now()
    comment = ReviewComment(state.next_id(), review.author, body, now, now, review, thread)
    thread.comments.append(comment)
    review.comments.append(comment)
    repository.review_comments[comment.id] = issue, pull, comment
    issue.updated_at = max(issue.updated_at, now)
    return comment


def remove_comment(repository: Repository, comment: ReviewComment) -> None:
    """The thread goes with its last comment; replies to one that went stay."""
    _, pull, _ = repository.review_comments.pop(comment.id)
    comment.thread.comments.remove(comment)
    comment.review.comments.remove(comment)
    if not comment.thread.comments:
        pull.threads.remove(comment.thread)


def shown(pull: Pull) -> list[ReviewComment]:
    """What everybody sees, oldest first."""
    found = [one for review in pull.reviews if review.submitted_at for one in review.comments]
    return sorted(found, key=lambda one: one.id)


def base_of(repository: Repository, pull: Pull, commit: str) -> str:
    """What the files at `commit`, the head or a commit before it, are compared with."""
    begin = pulls.merge_base(repository, pull)
    return begin if commit == pull.head_sha else repository.git.merge_base(begin, commit) or begin


def current(repository: Repository, pull: Pull, thread: Thread) -> Place | None:
    """Where the thread stands in today's diff; None where its lines were changed, or are in no hunk now."""
    place = thread.place
    if place is None:
        return None
    base = pulls.merge_base(repository, pull)
    if (thread.base, thread.commit) == (base, pull.head_sha):
        return place
    git = repository.git

    def now(side: Side, line: int) -> int | None:
        before, after = (thread.commit, pull.head_sha) if side == "RIGHT" else (thread.base, base)
        return anchors.moved(git, before, after, thread.path, line)

    diff = anchors.file_diff(git, base, pull.head_sha, thread.path)
    line = now(place.side, place.line)
    row = diff.find(place.side, line) if diff and line is not None else None
    if row is None or line is None:
        return None
    start = None
    if place.start_line is not None and place.start_side is not None:
        start = now(place.start_side, place.start_line)
        same_side = place.start_side == place.side
        if start is None or (same_side and line - start != place.line - place.start_line):
            return None
    return Place(line, place.side, start, place.start_side, row.position)

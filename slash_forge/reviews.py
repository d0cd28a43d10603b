"""Reviews, their threads, and the anchors of comments in a diff."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from slash_forge import diffs, pulls
from slash_forge.diffs import FileDiff, Row, Side
from slash_forge.git import BareRepository

if TYPE_CHECKING:
    from slash_forge.state import Issue, Pull, Reaction, Repository, State, User


@dataclass(frozen=True, slots=True)
class Anchor:
    """Lines of the pull request's diff; `start_line` None is one line alone."""

    line: int
    side: Side
    start_line: int | None
    start_side: Side | None
    position: int


@dataclass(slots=True, eq=False)
class Thread:
    """A conversation on lines of a diff: of `base`..`commit`, as they were. `anchor` None is the file as a whole."""

    id: int
    path: str
    base: str
    commit: str
    anchor: Anchor | None
    hunk: str
    comments: list[ReviewComment] = field(default_factory=list)
    resolved_by: User | None = None
    resolved: bool = False

    @property
    def on_file(self) -> bool:
        return self.anchor is None


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
    """`submitted_at` None: pending; only its author sees its comments."""

    id: int
    author: User | None
    body: str
    state: str
    commit: str
    submitted_at: str | None
    comments: list[ReviewComment] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment that will start a thread; its anchor is checked against the diff."""

    path: str
    body: str
    anchor: Anchor | None
    hunk: str = ""


def add_review(
    state: State, pull: Pull, author: User, *, body: str, verdict: str, commit: str, at: str | None = None
) -> Review:
    when = None if verdict == "PENDING" else at or state.now()
    review = Review(state.next_id(), author, body, verdict, commit, when)
    pull.reviews.append(review)
    return review


def add_thread(
    state: State, repository: Repository, issue: Issue, pull: Pull, review: Review, *, draft: Draft
) -> ReviewComment:
    base = base_of(repository, pull, review.commit)
    thread = Thread(state.next_id(), draft.path, base, review.commit, draft.anchor, draft.hunk)
    pull.threads.append(thread)
    return add_comment(state, repository, issue, pull, review, thread=thread, body=draft.body)


def add_comment(
    state: State,
    repository: Repository,
    issue: Issue,
    pull: Pull,
    review: Review,
    *,
    thread: Thread,
    body: str,
) -> ReviewComment:
    """Add the first comment of a thread, or a reply."""
    now = review.submitted_at or state.now()
    comment = ReviewComment(state.next_id(), review.author, body, now, now, review, thread)
    comment.reply_to = thread.comments[0].id if thread.comments else None
    thread.comments.append(comment)
    review.comments.append(comment)
    repository.review_comments[comment.id] = issue, pull, comment
    issue.updated_at = max(issue.updated_at, now)
    return comment


def remove_comment(repository: Repository, comment: ReviewComment) -> None:
    """Remove a comment, and its thread with the last one. Replies to it stay."""
    _, pull, _ = repository.review_comments.pop(comment.id)
    comment.thread.comments.remove(comment)
    comment.review.comments.remove(comment)
    if not comment.thread.comments:
        pull.threads.remove(comment.thread)


def submitted_comments(pull: Pull) -> list[ReviewComment]:
    """The comments of submitted reviews, oldest first."""
    matches = [one for review in pull.reviews if review.submitted_at for one in review.comments]
    return sorted(matches, key=lambda one: one.id)


def base_of(repository: Repository, pull: Pull, commit: str) -> str:
    """The commit that the files at `commit` (the head or an earlier commit) are compared with."""
    begin = pulls.merge_base(repository, pull)
    return begin if commit == pull.head_sha else repository.git.merge_base(begin, commit) or begin


def current(repository: Repository, pull: Pull, thread: Thread) -> Anchor | None:
    """The thread's anchor in the current diff; None if its lines were changed or are in no hunk."""
    anchor = thread.anchor
    if anchor is None:
        return None
    base = pulls.merge_base(repository, pull)
    if (thread.base, thread.commit) == (base, pull.head_sha):
        return anchor
    git = repository.git

    def now(side: Side, line: int) -> int | None:
        before, after = (thread.commit, pull.head_sha) if side == "RIGHT" else (thread.base, base)
        return diffs.moved_line(git, before, after, thread.path, line)

    diff = diffs.file_diff(git, base, pull.head_sha, thread.path)
    line = now(anchor.side, anchor.line)
    row = diff.find(anchor.side, line) if diff and line is not None else None
    if row is None or line is None:
        return None
    start = None
    if anchor.start_line is not None and anchor.start_side is not None:
        start = now(anchor.start_side, anchor.start_line)
        same_side = anchor.start_side == anchor.side
        if start is None or (same_side and line - start != anchor.line - anchor.start_line):
            return None
    return Anchor(line, anchor.side, start, anchor.start_side, row.position)


Mistake = Literal["path", "line", "start", "hunk", "order"]


class Unanchored(Exception):
    """The requested lines are not in the diff; `mistake` says which part of the request is wrong."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake)
        self.mistake = mistake


@dataclass(frozen=True, slots=True)
class AnchorRequest:
    """A requested anchor. `position` instead of `line` is GitHub's older form."""

    path: str
    body: str
    line: int | None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    position: int | None = None
    whole_file: bool = False


def resolve_anchor(git: BareRepository, base: str, head: str, requested: AnchorRequest) -> Draft:
    """Raises `Unanchored`."""
    if not diffs.is_changed(git, base, head, requested.path):
        raise Unanchored("path")
    if requested.whole_file:
        return Draft(requested.path, requested.body, None)
    diff = diffs.file_diff(git, base, head, requested.path)
    row = _row(diff, requested) if diff else None
    if diff is None or row is None:
        raise Unanchored("line")
    return Draft(requested.path, requested.body, _anchor(diff, row, requested), diff.quote(row))


def _row(diff: FileDiff, requested: AnchorRequest) -> Row | None:
    if requested.line is not None:
        return diff.find(requested.side, requested.line)
    return diff.at(requested.position) if requested.position is not None else None


def _anchor(diff: FileDiff, row: Row, requested: AnchorRequest) -> Anchor:
    side: Side = requested.side
    if requested.line is None:
        side = "LEFT" if row.new is None else "RIGHT"
    line = row.line(side)
    assert line is not None
    if requested.start_line is None:
        return Anchor(line, side, None, None, row.position)
    start_side = requested.start_side or side
    start = diff.find(start_side, requested.start_line)
    if start_side == side and requested.start_line >= line:
        raise Unanchored("order")
    if start is None:
        raise Unanchored("start")
    if start.hunk != row.hunk:
        raise Unanchored("hunk")
    if start.position >= row.position:
        raise Unanchored("order")
    return Anchor(line, side, requested.start_line, start_side, row.position)


IN_REVIEW: dict[Mistake, str] = {
    "path": "Path could not be resolved",
    "line": "Line could not be resolved",
    "start": "Start line could not be resolved",
    "hunk": "Start line must be part of the same hunk as the line.",
    "order": "Start line must precede the end line.",
}


def sentence(parts: list[str]) -> str:
    """Several reasons in one string, as GitHub joins them."""
    if len(parts) < 3:
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + f", and {parts[-1]}"

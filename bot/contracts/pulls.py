"""Pull requests as values: comments, review threads and failed checks; and a review with its findings on lines of the
diff. A bundle's `review.json` is a `Review`."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

BRANCH_PREFIX = "agent/"
"""Only the bot pushes to branches with it; events on a pull request of such a branch start nothing."""


class PullState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


class PullRequest(NamedTuple):
    """A pull request as it was at the trigger. The run works on `head_sha`, even if more is pushed later.

    `head_repository` is `owner/name`, empty if the fork was deleted. `base_sha` is the tip of the base branch
    at that time. `author` is `ghost` for a deleted account. `updated_at` is the time of the last change, pushes
    included (RFC 3339).
    """

    number: int
    state: PullState
    locked: bool
    author: str
    head_sha: str
    head_ref: str
    head_repository: str
    base_ref: str
    base_sha: str
    changed_files: int = 0
    updated_at: str = ""

    def from_fork(self, repository: str) -> bool:
        """Whether the head is outside `repository`; a deleted fork counts as one."""
        return self.head_repository.lower() != repository.lower()


class Side(StrEnum):
    """Side of a diff, as GitHub names it: LEFT is the old file, RIGHT the new one."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


class ReviewThread(NamedTuple):
    """A conversation on lines of a diff. `id` is the id of its first comment, which replies name.

    `line` is 0 if the thread is about the whole file or its line is gone (`outdated`); `start_line` is 0 for
    one line. `hunk` is the diff hunk that GitHub shows above the thread.
    """

    id: int
    path: str
    line: int
    start_line: int
    side: Side
    hunk: str
    comments: tuple[Comment, ...]
    resolved: bool = False
    outdated: bool = False

    @property
    def position(self) -> str:
        """`lines 10-12 of src/sum.py`; of the old file if the thread is on removed lines."""
        path = "".join(c if c.isprintable() else "?" for c in self.path)
        if not self.line:
            return path
        several = self.start_line and self.start_line != self.line
        lines = f"lines {self.start_line}-{self.line}" if several else f"line {self.line}"
        return f"{lines} of {path}{' before the change' if self.side is Side.LEFT else ''}"


class Annotation(NamedTuple):
    """One annotation of a check run on a file. `level` is GitHub's: notice, warning or failure. Its title is part of
    the message."""

    path: str
    line: int
    level: str
    message: str


class FailedStep(NamedTuple):
    """A failed step of a job and the last lines of its log."""

    name: str
    log: str


class FailedCheck(NamedTuple):
    """A check run or commit status that failed on a pull request's head, as untrusted text. `conclusion` is
    GitHub's value."""

    name: str
    conclusion: str
    url: str
    summary: str = ""
    annotations: tuple[Annotation, ...] = ()
    steps: tuple[FailedStep, ...] = ()


class ReviewText(NamedTuple):
    """The text of a review of a whole pull request. `state` and `association` are GitHub's values. The time of
    an edit is unknown."""

    id: int
    author: str
    association: str
    state: str
    body: str
    submitted_at: str


class Comment(NamedTuple):
    """One comment as the model may see it. Times are RFC 3339, UTC. `author` is `ghost` for a deleted account.
    `of_review`: the text of a review, whose `id` it has."""

    id: int
    author: str
    body: str
    created_at: str
    updated_at: str
    of_review: bool = False


NOT_LOOKED_AT = "not looked at: "
"""Begins the entry of `Review.left_out` that names files of which no line was shown."""


class Severity(StrEnum):
    """From most to least severe."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    NOTE = "note"


class Kind(StrEnum):
    """What goes wrong. Two findings of one kind on the same lines are the same finding."""

    WRONG_RESULT = "wrong-result"
    CRASH = "crash"
    SECURITY = "security"
    DATA_LOSS = "data-loss"
    CONCURRENCY = "concurrency"
    RESOURCES = "leak-or-slowness"
    INTERFACE = "broken-promise"
    MISSING_TEST = "missing-test"
    DOCUMENTATION = "documentation"
    OTHER = "other"


class Finding(NamedTuple):
    """One finding. `line` 0 is the whole file; `start_line` 0 is a single line.

    `text` is the anchored lines at the time of the finding, used to locate it again. `suggestion` replaces
    these lines, `None` for none. `fingerprint` is the same for findings of one kind on the same text, whatever
    their words, even if the lines have moved.
    """

    path: str
    line: int
    severity: Severity
    title: str
    body: str
    start_line: int = 0
    side: Side = Side.RIGHT
    text: str = ""
    suggestion: str | None = None
    fingerprint: str = ""
    kind: Kind = Kind.OTHER

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line; 0 and 0 for the whole file."""
        return self.start_line or self.line, self.line


def same_fault(one: Finding, other: Finding) -> bool:
    """Whether two findings of one review are the same: of one kind, on lines that overlap."""
    if (one.path, one.side, one.kind) != (other.path, other.side, other.kind):
        return False
    (first, last), (other_first, other_last) = one.lines, other.lines
    return first <= other_last and other_first <= last


class Review(NamedTuple):
    """`since_sha` is the head of the last review, empty if the whole diff was reviewed. `looked_at` names the parts of
    the diff that the model was shown, `unseen` those that are left for the next review; `refused` are the reports of
    the model that could not be placed, a title with the reason; `again` are the fingerprints of earlier findings that
    it reported again."""

    base_sha: str
    head_sha: str
    summary: str
    findings: tuple[Finding, ...] = ()
    since_sha: str = ""
    left_out: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    again: tuple[str, ...] = ()

    @property
    def not_looked_at(self) -> bool:
        """Whether there are files of which no line was shown."""
        return bool(self.unseen) or any(entry.startswith(NOT_LOOKED_AT) for entry in self.left_out)

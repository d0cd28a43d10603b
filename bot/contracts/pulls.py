"""Comments, pull requests, review threads and failed checks as values."""

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

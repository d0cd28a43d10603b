"""A pull request as values: its two ends, the threads of its reviews, and what failed on its head."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.contracts.comments import Comment


class PullState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as it was at the trigger: `head_sha` is what is worked on, whatever is pushed later.

    `head_repository` is `owner/name`, empty where the fork was deleted. `base_sha` is the tip of the base branch
    then. `author` is `ghost` with id 0 for a deleted account. `conflicting` is what GitHub says of merging it:
    false also where GitHub has not found out yet. `updated_at` is when anything about it last changed, pushes
    included (RFC 3339).
    """

    number: int
    state: PullState
    draft: bool
    locked: bool
    author: str
    author_id: int
    head_sha: str
    head_ref: str
    head_repository: str
    base_ref: str
    base_sha: str
    maintainer_can_modify: bool = False
    changed_files: int = 0
    conflicting: bool = False
    updated_at: str = ""

    def from_fork(self, repository: str) -> bool:
        """Whether the head lies outside `repository`; a deleted fork counts as one."""
        return self.head_repository.lower() != repository.lower()


class Side(StrEnum):
    """Of a diff, as GitHub names it: LEFT is the old file, RIGHT the new one."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """A conversation on lines of a diff. `id` is its first comment's, which replies name.

    `line` is 0 where the thread is about the whole file or its line is gone (`outdated`); `start_line` is 0 for
    one line. `hunk` is the diff hunk as GitHub shows it above the thread.
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
    def place(self) -> str:
        """`lines 10-12 of src/sum.py`; of the old file where the thread is on removed lines."""
        path = "".join(c if c.isprintable() else "?" for c in self.path)
        if not self.line:
            return path
        several = self.start_line and self.start_line != self.line
        lines = f"lines {self.start_line}-{self.line}" if several else f"line {self.line}"
        return f"{lines} of {path}{' before the change' if self.side is Side.LEFT else ''}"


@dataclass(frozen=True, slots=True)
class Annotation:
    """One remark of a check run on a file. `level` is GitHub's: notice, warning or failure. `title` is for one of our
    own; of one that is read it stands in the message."""

    path: str
    line: int
    level: str
    message: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A failed step of a job and the last lines of its log."""

    name: str
    log: str


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check run or commit status that failed on a pull request's head, as untrusted text. `conclusion` is GitHub's
    word."""

    name: str
    conclusion: str
    url: str
    summary: str = ""
    annotations: tuple[Annotation, ...] = ()
    steps: tuple[FailedStep, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewText:
    """What somebody wrote of a pull request as a whole. `state` is GitHub's word, `association` its word for who that
    is. When it was edited is not known."""

    id: int
    author: str
    association: str
    state: str
    body: str
    submitted_at: str

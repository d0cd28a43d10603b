"""A review as a value: findings on lines of a diff. A bundle's `review.json` is one."""

from enum import StrEnum
from typing import NamedTuple

from bot.contracts.pulls import Side

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

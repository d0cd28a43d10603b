"""A review as a value: findings on lines of a diff. A bundle's `review.json` is one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.contracts.pulls import Side

NOT_LOOKED_AT = "not looked at: "
"""Begins the entry of `Review.left_out` that names files of which no line was shown."""


class Severity(StrEnum):
    """From most to least severe."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `line` 0 is the whole file; `start_line` 0 is a single line.

    `text` is the anchored lines at the time of the finding, used to locate it again. `suggestion` replaces
    these lines, `None` for none; it is set only if it was applied to the work tree and, for a supported
    language, still parsed. `fingerprint` is the same for the same finding on the same text, even if its lines
    have moved.
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


@dataclass(frozen=True, slots=True)
class Review:
    """`since_sha` is the head of the last review, empty if the whole diff was reviewed."""

    base_sha: str
    head_sha: str
    summary: str
    findings: tuple[Finding, ...] = ()
    since_sha: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def not_looked_at(self) -> bool:
        """Whether there are files of which no line was shown."""
        return any(entry.startswith(NOT_LOOKED_AT) for entry in self.left_out)

"""A review as a value: findings on lines of a diff. `review.json` of a bundle is one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bot.contracts.pulls import Side


class Severity(StrEnum):
    """From worst to mildest."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark. `line` 0 is the file as a whole; `start_line` 0 is one line alone.

    `text` is the anchored lines as they stood when the finding was made: what it is found again by.
    `suggestion` is what these lines should become, `None` for none; it is set only where it was applied to the
    work tree and, for a language we can parse, still parsed. `fingerprint` is the same for the same remark on
    the same text, wherever its lines have moved.
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
    """`since_sha` is the head that the last review saw, empty where the whole diff was looked at."""

    base_sha: str
    head_sha: str
    summary: str
    findings: tuple[Finding, ...] = ()
    since_sha: str = ""
    left_out: tuple[str, ...] = ()

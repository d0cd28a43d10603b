"""Recognise repeated findings, whatever their words, also if their lines moved.

A fingerprint is a hash of path, anchored text and kind. A finding equals one of an earlier review if the fingerprints
are equal, or if both are of one kind and on the same lines.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from bot.contracts.pulls import Finding, Severity, Side

_LENGTH = 16
# What a maintainer answers to a finding that will not be fixed.
DECLINES = re.compile(
    r"(?i)\b(wo?n[’']?t ?fix|will not (fix|be fixed)|(as|by) (designed|design|intended)|(is|it[’']?s) intend(ed|ional)"
    r"|not a (bug|problem)|false positive|working as)\b"
)


class State(StrEnum):
    """What became of a finding. `CHANGED`: its lines are other ones now. `DECLINED`: a maintainer will not fix it."""

    OPEN = "open"
    CHANGED = "on lines that have changed since"
    RESOLVED = "resolved"
    DECLINED = "settled by a maintainer"

    @property
    def settled(self) -> bool:
        return self in (State.RESOLVED, State.DECLINED)


class KnownFinding(NamedTuple):
    """A finding of an earlier review. `last` is the present last line of its comment, 0 for the whole file and where
    the lines are gone. `comment` is the id of its comment, 0 if it is in the body of its review, whose id is `review`:
    then of the path only `path_key` is known."""

    fingerprint: str
    kind: str = ""
    severity: str = Severity.NOTE.value
    title: str = ""
    path: str = ""
    side: Side = Side.RIGHT
    first: int = 0
    last: int = 0
    state: State = State.OPEN
    comment: int = 0
    review: int = 0
    path_key: str = ""

    @property
    def position(self) -> str:
        if not self.path:
            return "in the text of its review"
        lines = f":{self.first}-{self.last}" if self.first != self.last else f":{self.last}"
        return f"{self.path}{lines if self.last else ''}"


class ReviewMemory(NamedTuple):
    """What earlier reviews came to: the last reviewed head, and the keys of pieces that it `left`."""

    head_sha: str = ""
    left: frozenset[str] = frozenset()
    findings: tuple[KnownFinding, ...] = ()


NO_MEMORY = ReviewMemory()


def fingerprint(finding: Finding) -> str:
    """Return 16 hex digits for path, text without white space, and kind."""
    # Separated by NUL, which is removed from the parts, so that the parts are unambiguous.
    # White space is normalised, so that re-indented code is equal.
    lines = (" ".join(line.split()) for line in finding.text.split("\n"))
    parts = (finding.path, "\n".join(filter(None, lines)), finding.kind.value)
    joined = "\0".join(part.replace("\0", "") for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:_LENGTH]


def find_new(findings: Iterable[Finding], earlier: Iterable[KnownFinding]) -> tuple[list[Finding], int]:
    """Return the findings to post, with fingerprints, and the number of known ones. An earlier finding hides the
    nearest one only: not one on equal code elsewhere."""
    marked = [finding._replace(fingerprint=fingerprint(finding)) for finding in findings]
    matches = matched(marked, tuple(earlier))
    return [one for number, one in enumerate(marked) if number not in matches], len(matches)


def matched(findings: Sequence[Finding], earlier: Sequence[KnownFinding]) -> dict[int, KnownFinding]:
    """Return, by the number of the finding, the earlier ones that it repeats."""
    matches: dict[int, KnownFinding] = {}
    free = list(earlier)

    def is_on_its_lines(finding: Finding, known: KnownFinding) -> bool:
        first, last = finding.lines
        is_alike = (finding.path, finding.side, finding.kind.value) == (known.path, known.side, known.kind)
        return is_alike and bool(known.last) and first <= known.last and known.first <= last

    # The most certain matches first, for all findings, so that a weaker match does not take an earlier finding.
    for is_same in (is_on_its_lines, lambda finding, known: known.fingerprint == finding.fingerprint):
        for number, finding in enumerate(findings):
            if number in matches:
                continue
            if match := next((one for one in free if is_same(finding, one)), None):
                matches[number] = match
                free.remove(match)
    return matches


def counts(findings: Iterable[Finding | KnownFinding]) -> str:
    """Return a text such as `1 critical, 2 minor`."""
    severities = [one.severity for one in findings]
    numbers = ((severities.count(severity), severity) for severity in Severity)
    return ", ".join(f"{number} {severity}" for number, severity in numbers if number)

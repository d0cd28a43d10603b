"""Recognise repeated findings, even if their lines moved or their wording changed.

A fingerprint is a hash of path, anchored text and title, a position one of path and text only. A finding equals one of
an earlier review if the fingerprints are equal, or if the positions are equal and the titles share their key words.
Within one review lines do not move: only the same words on the same lines are equal, since the same code may occur in
many places.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bot.contracts.review import Finding

_LENGTH = 16
_WORD = re.compile(r"[^\W_]+")
_ALIKE = 0.5
# Words that do not change the subject of a title.
_SMALL = frozenset(
    [
        *("a", "an", "and", "any", "are", "as", "at", "be", "because", "but", "by", "can", "could", "does"),
        *(
            "doesn",
            "for",
            "from",
            "has",
            "have",
            "here",
            "if",
            "in",
            "into",
            "is",
            "it",
            "its",
            "may",
            "might",
        ),
        *("must", "never", "no", "not", "of", "on", "or", "s", "should", "so", "t", "that", "the", "their"),
        *("then", "there", "these", "this", "to", "was", "when", "which", "will", "with", "without", "would"),
    ]
)


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """A finding of an earlier review. `line` is the current last line of its comment, 0 if unknown."""

    fingerprint: str
    position: str = ""
    title: str = ""
    line: int = 0


class NewFindings(NamedTuple):
    """`new` are the findings to post, with their fingerprints. The numbers count those of an earlier review and
    those that repeat another one of this review."""

    new: tuple[Finding, ...]
    already_known: int
    repeated: int


def fingerprint(finding: Finding) -> str:
    """Return 16 hex digits for path, text without white space, and the key words of the title, not for the severity."""
    return _digest(finding.path, _squeezed(finding.text), " ".join(sorted(key_words(finding.title))))


def position_of(finding: Finding) -> str:
    """Return 16 hex digits for path and text; empty if the finding has no text."""
    text = _squeezed(finding.text)
    return _digest(finding.path, text) if text else ""


def key_words(title: str) -> frozenset[str]:
    """Return the key words of a title in lower case."""
    return frozenset(word for word in _WORD.findall(title.casefold()) if word not in _SMALL)


def known_finding(finding: Finding) -> KnownFinding:
    return KnownFinding(fingerprint(finding), position_of(finding), finding.title, finding.line)


def same_remark(one: Finding, other: Finding) -> bool:
    """Whether two findings of one review are the same: on the same lines, in the same words."""
    return _lines_of(one) == _lines_of(other) and fingerprint(one) == fingerprint(other)


def find_new(findings: Iterable[Finding], earlier: Iterable[KnownFinding]) -> NewFindings:
    """Return the findings to post. A finding of an earlier review hides findings at one position only, the nearest in
    words and line, so that it does not hide one on equal code elsewhere."""
    once: list[Finding] = []
    repeated = 0
    for finding in findings:
        if any(same_remark(finding, other) for other in once):
            repeated += 1
        else:
            once.append(replace(finding, fingerprint=fingerprint(finding)))
    known_findings = _already_known(
        [_Compared(one, known_finding(one), key_words(one.title)) for one in once], tuple(earlier)
    )
    return NewFindings(tuple(one for one in once if one not in known_findings), len(known_findings), repeated)


class _Compared(NamedTuple):
    finding: Finding
    known: KnownFinding
    words: frozenset[str]


def _already_known(candidates: Sequence[_Compared], earlier: Sequence[KnownFinding]) -> set[Finding]:
    """Return those of `candidates` that an earlier review posted."""
    words = [key_words(one.title) for one in earlier]
    # The lines that each earlier finding was matched with.
    lines_of_known: dict[int, _Lines] = {}
    known_findings: set[Finding] = set()

    def equal(one: _Compared, number: int) -> bool:
        return one.known.fingerprint == earlier[number].fingerprint

    def alike(one: _Compared, number: int) -> bool:
        same_position = bool(one.known.position) and one.known.position == earlier[number].position
        return same_position and _alike(one.words, words[number])

    def take(is_same: Callable[[_Compared, int], bool], *, on_its_line: bool) -> None:
        for one in (one for one in candidates if one.finding not in known_findings):
            lines = _lines_of(one.finding)
            for number, remark in enumerate(earlier):
                free = lines_of_known.get(number, lines) == lines
                if free and is_same(one, number) and (not on_its_line or remark.line == lines.last):
                    lines_of_known[number] = lines
                    known_findings.add(one.finding)
                    break

    # The most certain matches first, for all findings, so that a weaker match does not take an earlier finding.
    for is_same in (equal, alike):
        take(is_same, on_its_line=True)
        take(is_same, on_its_line=False)
    return known_findings


class _Lines(NamedTuple):
    path: str
    side: str
    first: int
    last: int


def _lines_of(finding: Finding) -> _Lines:
    return _Lines(finding.path, finding.side, finding.start_line or finding.line, finding.line)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether most words of the shorter title are in the longer one. A title without words is like any other."""
    fewer = min(len(one), len(other))
    return not fewer or len(one & other) / fewer >= _ALIKE


def _squeezed(text: str) -> str:
    """Normalise white space, so that re-indented code is equal."""
    return "\n".join(line for line in (" ".join(line.split()) for line in text.split("\n")) if line)


def _digest(*parts: str) -> str:
    # Separated by NUL, which is removed from the parts, so that the parts are unambiguous.
    joined = "\0".join(part.replace("\0", "") for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:_LENGTH]

"""What makes two findings the same remark: wherever its lines have moved, and however it is worded this time.

A fingerprint is of path, anchored text and title. A place is of path and text alone: a remark made by an earlier review
on the very same text, in other words but with the same key words, is the same remark. Within one review lines do not
move: there only the same words on the same lines are one remark, since code of the same shape stands in many places.
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
# Words that a title may gain or lose without speaking of something else.
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
    """A finding of an earlier review. `line` is the last line that its comment stands on now, 0 if unknown."""

    fingerprint: str
    position: str = ""
    title: str = ""
    line: int = 0


class NewFindings(NamedTuple):
    """`new` are the findings to post, with their fingerprints. The numbers count those of an earlier review and those
    that repeat another one of this review."""

    new: tuple[Finding, ...]
    already_known: int
    repeated: int


def fingerprint(finding: Finding) -> str:
    """16 hex digits: path, text without its white space, and the key words of the title. Not the severity."""
    return _digest(finding.path, _squeezed(finding.text), " ".join(sorted(key_words(finding.title))))


def position_of(finding: Finding) -> str:
    """16 hex digits of path and text; empty where a finding stands on no text, which is no position."""
    text = _squeezed(finding.text)
    return _digest(finding.path, text) if text else ""


def key_words(title: str) -> frozenset[str]:
    """The words that a title is about, as they compare."""
    return frozenset(word for word in _WORD.findall(title.casefold()) if word not in _SMALL)


def known_finding(finding: Finding) -> KnownFinding:
    return KnownFinding(fingerprint(finding), position_of(finding), finding.title, finding.line)


def same_remark(one: Finding, other: Finding) -> bool:
    """Whether two findings of one review are the same: on the same lines, in the same words."""
    return _lines_of(one) == _lines_of(other) and fingerprint(one) == fingerprint(other)


def find_new(findings: Iterable[Finding], earlier: Iterable[KnownFinding]) -> NewFindings:
    """The findings to post. One of an earlier review hides the findings on one position only, the nearest in words and
    line, so that it does not hide one on other code of the same shape."""
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
    """Those of `candidates` that an earlier review posted."""
    words = [key_words(one.title) for one in earlier]
    # For which lines a remark stands, by its number.
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

    # The surest first, over all of them, so that no other finding takes what speaks of this one.
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
    """Most words of the shorter title are in the longer one. A title without words tells nothing apart."""
    fewer = min(len(one), len(other))
    return not fewer or len(one & other) / fewer >= _ALIKE


def _squeezed(text: str) -> str:
    """Re-indented code is the same code."""
    return "\n".join(line for line in (" ".join(line.split()) for line in text.split("\n")) if line)


def _digest(*parts: str) -> str:
    # A NUL is in no path and no title, so that nothing can pretend to be two parts.
    joined = "\0".join(part.replace("\0", "") for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:_LENGTH]

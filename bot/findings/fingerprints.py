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
class Said:
    """What an earlier review said: its fingerprint, its place, its title as people read it, and the last line that it
    stands on by now, 0 where that is not known."""

    fingerprint: str
    place: str = ""
    title: str = ""
    line: int = 0


class Sifted(NamedTuple):
    """`new` are the findings to tell, fingerprints set; the numbers are of those that are told already, by an earlier
    review, and that repeat another one of this review. Together they are all there were."""

    new: tuple[Finding, ...]
    told_before: int
    repeated: int


def fingerprint(finding: Finding) -> str:
    """16 hex digits: path, text without its white space, and the key words of the title. Not the severity."""
    return _digest(finding.path, _squeezed(finding.text), " ".join(sorted(key_words(finding.title))))


def place_of(finding: Finding) -> str:
    """16 hex digits of path and text; empty where a finding stands on no text, which is no place."""
    text = _squeezed(finding.text)
    return _digest(finding.path, text) if text else ""


def key_words(title: str) -> frozenset[str]:
    """The words that a title is about, as they compare."""
    return frozenset(word for word in _WORD.findall(title.casefold()) if word not in _SMALL)


def said(finding: Finding) -> Said:
    return Said(fingerprint(finding), place_of(finding), finding.title, finding.line)


def same_remark(one: Finding, other: Finding) -> bool:
    """Whether two findings of one review are the same: on the same lines, in the same words."""
    return _lines_of(one) == _lines_of(other) and fingerprint(one) == fingerprint(other)


def sifted(findings: Iterable[Finding], earlier: Iterable[Said]) -> Sifted:
    """What is to be told of `findings`. A remark of an earlier review stands for the findings on one place only, the
    nearest in words and line, so that it does not hide what is said of other code of the same shape."""
    once: list[Finding] = []
    repeated = 0
    for finding in findings:
        if any(same_remark(finding, other) for other in once):
            repeated += 1
        else:
            once.append(replace(finding, fingerprint=fingerprint(finding)))
    told = _told_before([_Compared(one, said(one), key_words(one.title)) for one in once], tuple(earlier))
    return Sifted(tuple(one for one in once if one not in told), len(told), repeated)


class _Compared(NamedTuple):
    finding: Finding
    said: Said
    words: frozenset[str]


def _told_before(found: Sequence[_Compared], earlier: Sequence[Said]) -> set[Finding]:
    """Those of `found` that are told already."""
    words = [key_words(one.title) for one in earlier]
    # For which lines a remark stands, by its number.
    taken: dict[int, _Lines] = {}
    told: set[Finding] = set()

    def equal(one: _Compared, number: int) -> bool:
        return one.said.fingerprint == earlier[number].fingerprint

    def alike(one: _Compared, number: int) -> bool:
        same_place = bool(one.said.place) and one.said.place == earlier[number].place
        return same_place and _alike(one.words, words[number])

    def take(is_same: Callable[[_Compared, int], bool], *, on_its_line: bool) -> None:
        for one in (one for one in found if one.finding not in told):
            lines = _lines_of(one.finding)
            for number, remark in enumerate(earlier):
                free = taken.get(number, lines) == lines
                if free and is_same(one, number) and (not on_its_line or remark.line == lines.last):
                    taken[number] = lines
                    told.add(one.finding)
                    break

    # The surest first, over all of them, so that no other finding takes what speaks of this one.
    for is_same in (equal, alike):
        take(is_same, on_its_line=True)
        take(is_same, on_its_line=False)
    return told


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

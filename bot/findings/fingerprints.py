"""What makes two findings the same remark: wherever its lines have moved, and however it is worded this time.

A fingerprint is of path, anchored text and title. A place is of path and text alone: a remark made before on the
very same text, in other words but with the same key words, is the same remark.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

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
    """What an earlier review said: its fingerprint, its place, and its title as people read it."""

    fingerprint: str
    place: str = ""
    title: str = ""


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
    return Said(fingerprint(finding), place_of(finding), finding.title)


def new_ones(findings: Iterable[Finding], earlier: Iterable[Said]) -> tuple[Finding, ...]:
    """The findings that were not made before, and each only once; their fingerprints set."""
    known = set[str]()
    titles: dict[str, list[frozenset[str]]] = {}

    def remember(one: Said) -> None:
        known.add(one.fingerprint)
        if one.place:
            titles.setdefault(one.place, []).append(key_words(one.title))

    for one in earlier:
        remember(one)
    kept: list[Finding] = []
    for finding in findings:
        this = said(finding)
        words = key_words(finding.title)
        if this.fingerprint in known or any(_alike(words, others) for others in titles.get(this.place, ())):
            continue
        remember(this)
        kept.append(replace(finding, fingerprint=this.fingerprint))
    return tuple(kept)


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

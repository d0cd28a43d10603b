"""Where a piece of text occurs in a file, and what the file looks like with it replaced.

Lines are compared with their ends as line feeds, since that is how a view shows them; only the replaced spans
of the file change, every other character stays, mixed line ends included.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from bot.workshop.host.text import LineEnds, line_ends, to_lf

Span = tuple[int, int]
"""Offsets [start, end) into a text."""


@dataclass(frozen=True, slots=True)
class Match:
    """`lf` is the text that was searched, with line feeds; `spans` are in it, overlapping ones included."""

    lf: str
    spans: tuple[Span, ...]

    def lines(self) -> list[int]:
        """The line each span begins on, 1-based."""
        numbers: list[int] = []
        line, at = 1, 0
        for start, _ in self.spans:
            line += self.lf.count("\n", at, start)
            at = start
            numbers.append(line)
        return numbers


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new text and how many places changed. `first_line` and `last_line` are those of the new text that
    hold what was put in; where something was only taken out, the line at which it was."""

    content: str
    count: int
    first_line: int
    last_line: int


def occurrences(text: str, wanted: str) -> tuple[Span, ...]:
    """Every place where `wanted` occurs, overlapping ones counted: "aa" is twice in "aaa"."""
    spans: list[Span] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        spans.append((at, at + len(wanted)))
        at = text.find(wanted, at + 1)
    return tuple(spans)


def find(content: str, old: str) -> Match:
    """Where `old` occurs in `content`, whatever the line ends of either."""
    lf = to_lf(content)
    plain = to_lf(old) if line_ends(content).cr else old.replace("\r\n", "\n")
    return Match(lf, occurrences(lf, plain) or occurrences(lf, old))


def replace(content: str, match: Match, new: str, *, everywhere: bool = False) -> Replaced:
    """`content` with the first span of `match` replaced, or with `everywhere` each that does not overlap the one
    before it. What is put in gets the line ends of the place."""
    spans = _disjoint(match.spans) if everywhere else match.spans[:1]
    ends = line_ends(content)
    feeds = _carriage_returns(content, ends)
    pieces: list[str] = []
    at = 0
    new = to_lf(new) if ends.cr else new.replace("\r\n", "\n")
    for span in spans:
        start, end = (_original(offset, feeds) for offset in span)
        ending = ends.uniform or _nearest_end(content, start, end)
        pieces += [content[at:start], new.replace("\n", ending)]
        at = end
    pieces.append(content[at:])
    first, last = _touched_lines(match.lf, spans, new)
    return Replaced("".join(pieces), len(spans), first, last)


def _disjoint(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    kept: list[Span] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return tuple(kept)


def _carriage_returns(content: str, ends: LineEnds) -> list[int]:
    """For each CRLF in order, the offset of its line feed in the LF text."""
    if not ends.crlf:
        return []
    return [found.start() - index for index, found in enumerate(re.finditer("\r\n", content))]


def _original(offset: int, feeds: list[int]) -> int:
    """An offset of the LF text in the original: one more for each carriage return that was dropped before it."""
    return offset + bisect_left(feeds, offset)


def _nearest_end(content: str, start: int, end: int) -> str:
    """The line end used where the lines are mixed: within the span, else after it, else before it."""
    at = content.find("\n", start, end)
    if at < 0:
        at = content.find("\n", end)
    if at < 0:
        at = content.rfind("\n", 0, start)
    return "\r\n" if at > 0 and content[at - 1] == "\r" else "\n"


def _touched_lines(lf: str, spans: tuple[Span, ...], new: str) -> tuple[int, int]:
    first = lf.count("\n", 0, spans[0][0]) + 1
    fed, out = new.count("\n"), lf.count("\n", spans[0][0], spans[0][1])
    last_start = lf.count("\n", 0, spans[-1][0]) + 1 + (len(spans) - 1) * (fed - out)
    return first, last_start + fed - (1 if new.endswith("\n") else 0)

"""Find a text in a file and replace it; if it does not occur, find the closest lines.

Lines are compared with line feeds as their ends, as a view shows them. Only the replaced spans change; every other
character stays, mixed line ends included.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import zip_longest
from typing import NamedTuple

from bot.toolhost.file_excerpt import excerpt
from bot.toolhost.text import LineEnds, line_ends, to_lf

Span = tuple[int, int]
"""Offsets [start, end) into a text."""


class Match(NamedTuple):
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


class Replacement(NamedTuple):
    """The new text and the number of replaced spans. `first_line` and `last_line` enclose the inserted text in the new
    text; after a deletion they are the line at which it was."""

    content: str
    spans: int
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
    return Match(lf, occurrences(lf, to_lf(old)) or occurrences(lf, old))


def replace(content: str, match: Match, new: str, *, everywhere: bool = False) -> Replacement:
    """`content` with the first span of `match` replaced, or with `everywhere` each that does not overlap the one
    before it. The inserted text gets the line ends of its surroundings."""
    spans = _disjoint(match.spans) if everywhere else match.spans[:1]
    ends = line_ends(content)
    feeds = _carriage_returns(content, ends)
    pieces: list[str] = []
    at = 0
    new = to_lf(new)
    for span in spans:
        start, end = (_original(offset, feeds) for offset in span)
        ending = ends.uniform or _nearest_end(content, start, end)
        pieces += [content[at:start], new.replace("\n", ending)]
        at = end
    pieces.append(content[at:])
    first, last = _touched_lines(match.lf, spans, new)
    return Replacement("".join(pieces), len(spans), first, last)


def _disjoint(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    selected: list[Span] = []
    for span in spans:
        if not selected or span[0] >= selected[-1][1]:
            selected.append(span)
    return tuple(selected)


def _carriage_returns(content: str, ends: LineEnds) -> list[int]:
    """For each CRLF in order, the offset of its line feed in the LF text."""
    if not ends.crlf:
        return []
    return [match.start() - index for index, match in enumerate(re.finditer("\r\n", content))]


def _original(offset: int, feeds: list[int]) -> int:
    """An offset of the LF text in the original: one more for each carriage return that was dropped before it."""
    return offset + bisect_left(feeds, offset)


def _nearest_end(content: str, start: int, end: int) -> str:
    """The line end for text inserted into a file with mixed ones: that within the span, else after, else before it."""
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


ALIKE = 0.6
"""The lowest similarity of a near miss that is shown."""

_COMPARED = 3000
"""Lines, and characters, that are compared: that takes quadratic time."""


def find_near_miss(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, str] | None:
    """The number of the first of the lines that are most similar to `wanted`, and their text with the first difference;
    `None` if none are similar. They are around the longest run of lines that differ in white space and case alone, or
    else around the line that is most like the longest."""
    flat, target = [_flat(line) for line in lines], [_flat(line) for line in wanted]
    run = SequenceMatcher(None, flat[:_COMPARED], target[:_COMPARED], autojunk=False).find_longest_match()
    at, offset = run.a, run.b
    if not any(target[offset : offset + run.size]):
        offset = max(range(len(target)), key=lambda number: len(target[number]), default=0)
        close = get_close_matches(target[offset], flat[:_COMPARED], n=1, cutoff=ALIKE) if target else []
        if not close:
            return None
        at = flat.index(close[0])
    first = max(0, at - offset)
    there, sought = "\n".join(flat[first : first + len(target)]), "\n".join(target)
    if SequenceMatcher(None, there[:_COMPARED], sought[:_COMPARED], autojunk=False).ratio() < ALIKE:
        return None
    return first + 1, _comparison(lines, wanted, first + 1)


def _comparison(lines: Sequence[str], wanted: Sequence[str], first: int) -> str:
    last = first - 1 + len(wanted)
    text = excerpt(lines, first, last)
    for number, (there, sent) in enumerate(zip_longest(lines[first - 1 : last], wanted), first):
        if there != sent:
            return (
                f"{text}\nFirst difference, line {number} of the file (· space, → tab):\n"
                f"file: {_visible(there)}\nsent: {_visible(sent)}"
            )
    return text


def _flat(line: str) -> str:
    return "".join(unicodedata.normalize("NFKC", line).split()).casefold()


def _visible(line: str | None) -> str:
    if line is None:
        return "(no line)"
    body = line.strip(" \t")
    start = line[: len(line) - len(line.lstrip(" \t"))] if body else line
    end = line[len(start) + len(body) :]
    marks = str.maketrans({" ": "·", "\t": "→"})
    visible = (start.translate(marks) + body + end.translate(marks)).replace("\r", "␍")
    return visible if len(visible) <= 200 else visible[:200] + "…"

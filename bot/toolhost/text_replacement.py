"""Find a text in a file and replace it; if it does not occur, find the closest lines and the likely cause.

Lines are compared with line feeds as their ends, as a view shows them. Only the replaced spans change; every other
character stays, mixed line ends included.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import zip_longest
from typing import NamedTuple

from bot.toolhost.file_excerpt import excerpt
from bot.toolhost.text import LineEnds, line_ends, split_lines, to_lf

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
    plain = to_lf(old) if line_ends(content).cr else old.replace("\r\n", "\n")
    return Match(lf, occurrences(lf, plain) or occurrences(lf, old))


def replace(content: str, match: Match, new: str, *, everywhere: bool = False) -> Replacement:
    """`content` with the first span of `match` replaced, or with `everywhere` each that does not overlap the one
    before it. The inserted text gets the line ends of its surroundings."""
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

_PREFIX = re.compile(r"^\s*\d+[|\t]")
_PLAIN = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "...", "\u00a0": " "}
)


class NearMiss(NamedTuple):
    """Lines `first` to `last` (1-based) are the closest; `cause` is a clause that says what differs."""

    first: int
    last: int
    cause: str

    def comparison(self, lines: Sequence[str], wanted: Sequence[str]) -> str:
        """These of the file's `lines`, and where `wanted` differs from them, with white space made visible."""
        text = excerpt(lines, self.first, self.last)
        pairs = zip_longest(lines[self.first - 1 : self.last], wanted)
        for number, (there, sent) in enumerate(pairs, self.first):
            if there != sent:
                return (
                    f"{text}\nFirst difference, line {number} of the file (· space, → tab):\n"
                    f"file: {_visible(there)}\nsent: {_visible(sent)}"
                )
        return text


def find_near_miss(lf: str, old: str) -> NearMiss | None:
    """The lines most similar to `old` in a text with line feeds; `None` if none are similar."""
    old = old.replace("\r\n", "\n")
    whole = _whole_text_causes(lf, old)
    if whole is not None:
        return whole
    lines, wanted = split_lines(lf), split_lines(old)
    for cause, flatten in _CAUSES:
        first = _same_after(lines, wanted, flatten)
        if first is not None:
            return NearMiss(first + 1, first + len(wanted), cause)
    return _alike(lines, wanted)


def _whole_text_causes(lf: str, old: str) -> NearMiss | None:
    lines = split_lines(old)
    candidates = []
    if lines and all(_PREFIX.match(line) for line in lines):
        bare = "\n".join(_PREFIX.sub("", line) for line in lines)
        candidates.append((bare, '"old" carries the line numbers of a view, which are not in the file'))
    if "\\n" in old or "\\t" in old or '\\"' in old:
        bare = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        candidates.append(
            (bare, 'a line break, tab or quote in "old" is written as a backslash and a letter')
        )
    candidates.append((old.strip("\n"), '"old" begins or ends with a blank line that is not there'))
    for bare, cause in candidates:
        at = lf.find(bare) if bare.strip() else -1
        if at >= 0:
            first = lf.count("\n", 0, at) + 1
            return NearMiss(first, first + bare.rstrip("\n").count("\n"), cause)
    return None


def _without_trailing_space(line: str) -> str:
    return line.rstrip()


def _without_tabs(line: str) -> str:
    body = line.lstrip()
    return line[: len(line) - len(body)].expandtabs(4) + body.rstrip()


def _without_indentation(line: str) -> str:
    return line.strip()


def _plain(line: str) -> str:
    return unicodedata.normalize("NFKC", line.translate(_PLAIN)).strip()


def _without_spaces(line: str) -> str:
    return "".join(_plain(line).split())


def _without_case(line: str) -> str:
    return _without_spaces(line).casefold()


# From the smallest difference to the largest; each flattens everything that those before it do.
_CAUSES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("only spaces at line ends differ", _without_trailing_space),
    ("the file indents with tabs where the text has spaces, or the other way round", _without_tabs),
    ("only the indentation differs", _without_indentation),
    ("quotes, dashes, spaces or other characters only look alike", _plain),
    ("only white space within a line differs", _without_spaces),
    ("only upper and lower case differ", _without_case),
)


def _same_after(lines: list[str], wanted: list[str], flatten: Callable[[str], str]) -> int | None:
    """Index of the first run of lines that equals `wanted` once both are flattened."""
    flat, target = [flatten(line) for line in lines], [flatten(line) for line in wanted]
    if not any(target):
        return None
    size, at = len(target), -1
    try:
        while True:
            at = flat.index(target[0], at + 1)
            if flat[at : at + size] == target:
                return at
    except ValueError:
        return None


def _alike(lines: list[str], wanted: list[str]) -> NearMiss | None:
    """The lines around the longest run of equal lines, or else around the line that is most like the longest."""
    flat, target = [_without_spaces(line) for line in lines], [_without_spaces(line) for line in wanted]
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
    score = SequenceMatcher(None, there[:_COMPARED], sought[:_COMPARED], autojunk=False).ratio()
    if score < ALIKE:
        return None
    return NearMiss(first + 1, min(first + len(wanted), len(lines)), f"it is {score:.0%} alike")


def _visible(line: str | None) -> str:
    if line is None:
        return "(no line)"
    body = line.strip(" \t")
    start = line[: len(line) - len(line.lstrip(" \t"))] if body else line
    end = line[len(start) + len(body) :]
    marks = str.maketrans({" ": "·", "\t": "→"})
    visible = (start.translate(marks) + body + end.translate(marks)).replace("\r", "␍")
    return visible if len(visible) <= 200 else visible[:200] + "…"

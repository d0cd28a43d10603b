"""Where a text shows pictures, as GitHub would render it: linear in its length, whatever it holds.

Not a renderer: what it takes for a picture too often is judged by its address, what it misses stays text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_TICKS = re.compile(r"`+")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*<?([^\s<>]{1,2000})>?", re.MULTILINE)
# Every part has a longest length and stops where the next picture might begin, so that no text is read twice.
_INLINE = re.compile(
    r"!\[([^\[\]]{0,500})\]\([ \t]*<?([^\s()<>]{1,2000})>?(?:[ \t\n]+(?:\"[^\"]{0,300}\"|'[^']{0,300}'))?[ \t]*\)"
)
_REFERENCE = re.compile(r"!\[([^\[\]]{0,500})\](?:\[([^\[\]\n]{0,200})\])?")
_TAG = re.compile(r"<img\b[^<>]{0,4000}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""\b(src|alt)\s*=\s*(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s"'<>`=]{1,2000}))""", re.IGNORECASE
)
_BEGINS = re.compile(r"!\[|<img\b", re.IGNORECASE)
_QUOTED = re.compile(r"[ \t]*>")


class Shown(NamedTuple):
    """One picture of a text: its `address` as written, the `alt` text, and where its Markdown ends. `quoted` is whether
    it stands in a quotation, so that somebody else may have put it there first."""

    address: str
    alt: str
    end: int
    quoted: bool = False


def pictures_in(text: str) -> list[Shown]:
    """The pictures of `text`, in their order; none of code."""
    if _BEGINS.search(text) is None:
        return []
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # of one length, so that places stay
    code = _Code(text)
    named = _definitions(text)
    found: list[Shown] = []
    position = line = seen = 0
    while (begins := _BEGINS.search(text, position)) is not None:
        start = begins.start()
        shown = None if code.holds(start) or _is_escaped(text, start) else _at(text, start, named)
        if shown is None:
            position = begins.end()
            continue
        # What lies before `seen` was looked through already.
        line = max(line, text.rfind("\n", seen, start) + 1)
        seen = start
        found.append(shown._replace(quoted=_QUOTED.match(text, line, start) is not None))
        position = shown.end
    return found


def sources_in(html: str) -> Iterator[str]:
    """The addresses of the pictures in HTML that GitHub rendered."""
    for tag in _TAG.finditer(html):
        attributes = _attributes(tag.group())
        if "src" in attributes:
            yield attributes["src"]


def _at(text: str, start: int, named: dict[str, str]) -> Shown | None:
    if text[start] == "<":
        tag = _TAG.match(text, start)
        attributes = _attributes(tag.group()) if tag else {}
        if tag is None or not attributes.get("src"):
            return None
        return Shown(attributes["src"].strip(), attributes.get("alt", ""), tag.end())
    if inline := _INLINE.match(text, start):
        return Shown(unescape(inline.group(2)), inline.group(1), inline.end())
    reference = _REFERENCE.match(text, start)
    if reference is None:
        return None
    address = named.get(_label(reference.group(2) or reference.group(1)))
    return Shown(address, reference.group(1), reference.end()) if address else None


def _attributes(tag: str) -> dict[str, str]:
    """The first of each name, as a browser takes them."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(tag):
        value = next((group for group in match.groups()[1:] if group is not None), "")
        found.setdefault(match.group(1).lower(), unescape(value))
    return found


def _definitions(text: str) -> dict[str, str]:
    """The first of each name counts."""
    named: dict[str, str] = {}
    for match in _DEFINITION.finditer(text):
        named.setdefault(_label(match.group(1)), unescape(match.group(2)))
    return named


def _label(name: str) -> str:
    return " ".join(name.split()).casefold()


def _is_escaped(text: str, start: int) -> bool:
    return start > 0 and text[start - 1] == "\\"


class _Code:
    """Which places of a text lie in a fenced block or between backticks."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        begun = 0
        for start, end in _fenced(text):
            self._between_ticks(text, begun, start)
            self._add(start, end)
            begun = end
        self._between_ticks(text, begun, len(text))

    def holds(self, place: int) -> bool:
        before = bisect_right(self._starts, place) - 1
        return before >= 0 and place < self._ends[before]

    def _add(self, start: int, end: int) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def _between_ticks(self, text: str, start: int, end: int) -> None:
        """A run of backticks is closed by the next one of the same length; one that never is is text."""
        runs = [match.span() for match in _TICKS.finditer(text, start, end)]
        of_length: dict[int, list[int]] = defaultdict(list)
        for number, (begin, stop) in enumerate(runs):
            of_length[stop - begin].append(number)
        number = 0
        while number < len(runs):
            begin, stop = runs[number]
            same = of_length[stop - begin]
            following = bisect_right(same, number)
            if following == len(same):
                number += 1
                continue
            closing = same[following]
            self._add(begin, runs[closing][1])
            number = closing + 1


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """Blocks of code. One that is never closed goes to the end."""
    opened: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opened is None:
            opened = line
        elif _closes(opened, line):
            yield opened.start(), line.end()
            opened = None
    if opened is not None:
        yield opened.start(), len(text)


def _closes(opened: re.Match[str], line: re.Match[str]) -> bool:
    mark, own = opened.group(1), line.group(1)
    return own[0] == mark[0] and len(own) >= len(mark) and line.group().strip() == own

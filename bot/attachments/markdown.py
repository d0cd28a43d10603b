"""Find pictures and links in Markdown as GitHub would render it, in linear time for any text.

Not a renderer: a false positive is rejected by its address, a missed picture stays text.
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
    # `alt` is matched so that what looks like a source in its value is not.
    r"""\b(src|alt)\s*=\s*(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s"'<>`=]{1,2000}))""",
    re.IGNORECASE,
)
_PICTURE_START = re.compile(r"!\[|<img\b", re.IGNORECASE)
_QUOTED = re.compile(r"[ \t]*>")
_ADDRESS = re.compile(r"https?://[^\s()<>\[\]\"'`|]{1,2000}")


class Link(NamedTuple):
    """One picture or link of a text: its `address` as written, and the end of its Markdown.
    `quoted`: it is in a quotation, so another author may have posted it first."""

    address: str
    end: int
    quoted: bool = False


def pictures_in(text: str) -> list[Link]:
    """Return the pictures of `text` in order, except those in code."""
    if _PICTURE_START.search(text) is None:
        return []
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # of one length, so that places stay
    code = _Code(text)
    definitions = _definitions(text)
    pictures: list[Link] = []
    position = line = seen = 0
    while (match := _PICTURE_START.search(text, position)) is not None:
        start = match.start()
        picture = (
            None if code.holds(start) or _is_escaped(text, start) else _picture_at(text, start, definitions)
        )
        if picture is None:
            position = match.end()
            continue
        # What lies before `seen` was looked through already.
        line = max(line, text.rfind("\n", seen, start) + 1)
        seen = start
        pictures.append(picture._replace(quoted=_QUOTED.match(text, line, start) is not None))
        position = picture.end
    return pictures


def addresses_in(text: str) -> list[Link]:
    """Return the addresses of links and bare addresses in order, except those in code."""
    if _ADDRESS.search(text) is None:
        return []
    code, links = _Code(text), []
    for line in re.finditer(r"[^\r\n]+", text):
        quoted = _QUOTED.match(line.group()) is not None
        for link in _ADDRESS.finditer(text, *line.span()):
            if not code.holds(link.start()):
                links.append(Link(link.group().rstrip(".,:;!?*"), link.end(), quoted))
    return links


def sources_in(html: str) -> Iterator[str]:
    """Return the addresses of the pictures in HTML that GitHub rendered."""
    for tag in _TAG.finditer(html):
        attributes = _attributes(tag.group())
        if "src" in attributes:
            yield attributes["src"]


def _picture_at(text: str, start: int, definitions: dict[str, str]) -> Link | None:
    if text[start] == "<":
        tag = _TAG.match(text, start)
        attributes = _attributes(tag.group()) if tag else {}
        if tag is None or not attributes.get("src"):
            return None
        return Link(attributes["src"].strip(), tag.end())
    if inline := _INLINE.match(text, start):
        return Link(unescape(inline.group(2)), inline.end())
    reference = _REFERENCE.match(text, start)
    if reference is None:
        return None
    address = definitions.get(_label(reference.group(2) or reference.group(1)))
    return Link(address, reference.end()) if address else None


def _attributes(tag: str) -> dict[str, str]:
    """Return the first attribute of each name, as browsers do."""
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(tag):
        value = next((group for group in match.groups()[1:] if group is not None), "")
        attributes.setdefault(match.group(1).lower(), unescape(value))
    return attributes


def _definitions(text: str) -> dict[str, str]:
    """The first definition of a name counts."""
    definitions: dict[str, str] = {}
    for match in _DEFINITION.finditer(text):
        definitions.setdefault(_label(match.group(1)), unescape(match.group(2)))
    return definitions


def _label(name: str) -> str:
    return " ".join(name.split()).casefold()


def _is_escaped(text: str, start: int) -> bool:
    return start > 0 and text[start - 1] == "\\"


class _Code:
    """The ranges of a text that are in a fenced block or between backticks."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        position = 0
        for start, end in _fenced(text):
            self._between_ticks(text, position, start)
            self._add(start, end)
            position = end
        self._between_ticks(text, position, len(text))

    def holds(self, position: int) -> bool:
        before = bisect_right(self._starts, position) - 1
        return before >= 0 and position < self._ends[before]

    def _add(self, start: int, end: int) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def _between_ticks(self, text: str, start: int, end: int) -> None:
        """A run of backticks is closed by the next one of the same length; an unclosed one is text."""
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
    """Return the fenced blocks. An unclosed one extends to the end."""
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

"""What was taken out of a text, counted by kind, with the first lines that it stood on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

LINES_NAMED = 5


class Found:
    """Kinds are in the order in which the first of each was found."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._lines: dict[str, dict[int, None]] = {}

    def add(self, kind: str, count: int, lines: Iterable[int]) -> None:
        """`count` of a kind; `lines` are asked for no longer than they are named."""
        if count:
            self.counts[kind] = self.counts.get(kind, 0) + count
            self._lines.setdefault(kind, {}).update(dict.fromkeys(islice(lines, LINES_NAMED)))

    def lines(self, kind: str) -> tuple[int, ...]:
        return tuple(self._lines[kind])[:LINES_NAMED]


def lines_of(text: str, places: Iterable[int]) -> Iterator[int]:
    """The lines of the text, from 1, on which places are that come in the order of the text; each line once."""
    line, at, end = 1, 0, -1
    for place in places:
        if place > end:
            line += text.count("\n", at, place)
            at, end = place, text.find("\n", place)
            if end < 0:
                end = len(text)
            yield line


def lines_with(
    pattern: re.Pattern[str], text: str, wanted: Callable[[re.Match[str]], bool] = bool
) -> Iterator[int]:
    """The lines of the text, from 1, on which a `wanted` match of `pattern` begins: each once, and looked at
    no further."""
    line, counted, at = 1, 0, 0
    while match := pattern.search(text, at):
        at = match.end()
        if not wanted(match):
            continue
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield line
        if (at := text.find("\n", at)) < 0:
            return

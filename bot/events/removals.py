"""Count the hidden text removed from a text, by kind, with its first lines; and the marks in a text meanwhile.

Apart from the modules that remove it, which are imported only for a text with markup: they take 20 ms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

LINES_NAMED = 5

ELEMENT, TEXT = "off-screen element", "alternative or title text"

BEGIN, END = "\0", "\1"
"""Around code in a marked text. A text without invisible characters contains neither."""

BREAK = "\0"
"""On both sides of code, or of its place, once `BEGIN` and `END` are removed."""

TAKEN_OUT = "\2"
"""In place of code that was in a removed element."""


class Removals:
    """`counts` has the kinds in the order of their first removal."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._lines: dict[str, dict[int, None]] = {}

    def add(self, kind: str, count: int, lines: Iterable[int]) -> None:
        """Add `count` of a kind; at most `LINES_NAMED` of `lines` are read."""
        if count:
            self.counts[kind] = self.counts.get(kind, 0) + count
            self._lines.setdefault(kind, {}).update(dict.fromkeys(islice(lines, LINES_NAMED)))

    def lines(self, kind: str) -> tuple[int, ...]:
        return tuple(self._lines[kind])[:LINES_NAMED]


def lines_of(text: str, positions: Iterable[int]) -> Iterator[int]:
    """Yield the lines of the text, from 1, that contain `positions`, which ascend; each line once."""
    line, at, end = 1, 0, -1
    for position in positions:
        if position > end:
            line += text.count("\n", at, position)
            at, end = position, text.find("\n", position)
            if end < 0:
                end = len(text)
            yield line


def lines_with(
    pattern: re.Pattern[str], text: str, predicate: Callable[[re.Match[str]], bool] = bool
) -> Iterator[int]:
    """Yield the lines of the text, from 1, on which a match that satisfies `predicate` begins, each once."""
    line, counted, at = 1, 0, 0
    while match := pattern.search(text, at):
        at = match.end()
        if not predicate(match):
            continue
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield line
        if (at := text.find("\n", at)) < 0:
            return

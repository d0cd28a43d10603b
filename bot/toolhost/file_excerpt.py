"""Cut a piece of a file for a result: by lines, by bytes, by the length of a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.toolhost.text import split_lines

MAX_BYTES = 50 * 1024
MAX_LINE = 2000


class Window(NamedTuple):
    """Lines from `first` on, without their ends; `total` of the file. `cut` counts lines that were shortened."""

    first: int
    lines: tuple[str, ...]
    total: int
    cut: int

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def more(self) -> bool:
        """Whether the file goes on after them."""
        return bool(self.lines) and self.last < self.total

    def numbered(self) -> str:
        return "".join(f"{number}|{line}\n" for number, line in enumerate(self.lines, self.first))


def window_of(lf: str, first: int, limit: int) -> Window:
    """Up to `limit` lines of LF text, up to `MAX_BYTES`; the first line always fits. `first` is 1-based."""
    every = split_lines(lf)
    taken: list[str] = []
    size = cut = 0
    for line in every[first - 1 : first - 1 + limit]:
        short = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}[line goes on]"
        size += len(short.encode("utf-8", "replace")) + len(str(first + len(taken))) + 2
        if taken and size > MAX_BYTES:
            break
        cut += short is not line
        taken.append(short)
    return Window(first, tuple(taken), len(every), cut)


_AROUND = 2
"""Unchanged lines that an edit's result shows on each side of the change."""

_MAX_LINES, _MAX_WIDTH = 40, 200
_MAX_ECHO, _ECHO_WIDTH = 7, 100
"""Of an edit's result: the model has just sent most of it."""


def excerpt(lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last` (1-based, cut to what exists), numbered as a view numbers them; a long piece keeps
    its two ends."""
    return _both_ends(lines, first, last, _MAX_LINES, _MAX_WIDTH)


def changed_part(lf: str, first: int, last: int) -> str:
    """The lines that changed, with a few around them, so that the next edit needs no view."""
    part = _both_ends(split_lines(lf), first - _AROUND, last + _AROUND, _MAX_ECHO, _ECHO_WIDTH)
    return part or "[the file is empty now]"


def _both_ends(lines: Sequence[str], first: int, last: int, most: int, width: int) -> str:
    def numbered(numbers: Sequence[int]) -> list[str]:
        texts = ((number, lines[number - 1]) for number in numbers)
        return [
            f"{n}|{line}" if len(line) <= width else f"{n}|{line[:width]}[line goes on]" for n, line in texts
        ]

    numbers, half = range(max(1, first), min(last, len(lines)) + 1), most // 2
    if len(numbers) <= most:
        return "\n".join(numbered(numbers))
    left_out = f"[{len(numbers) - 2 * half} lines]"
    return "\n".join([*numbered(numbers[:half]), left_out, *numbered(numbers[-half:])])

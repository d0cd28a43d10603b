"""Cut a piece of a file for a result: by lines, by bytes, by the length of a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


AROUND = 2
"""Unchanged lines that an edit's result shows on each side of the change."""

_ENDS = 3
_ECHO = 900
"""Characters of the file in an edit's result: the model has just sent most of it."""

_ECHO_LINE = 100
_MAX_LINES = 40
_MAX_LINE = 200


def excerpt(lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last` (1-based, cut to what exists), numbered as a view numbers them; a long piece keeps
    its two ends."""
    numbers = range(max(1, first), min(last, len(lines)) + 1)
    if len(numbers) <= _MAX_LINES:
        return "\n".join(_numbered(lines, number) for number in numbers)
    half = _MAX_LINES // 2
    top, end = numbers[:half], numbers[-half:]
    left_out = f"[{len(numbers) - 2 * half} lines]"
    return "\n".join([*(_numbered(lines, n) for n in top), left_out, *(_numbered(lines, n) for n in end)])


def changed_part(lf: str, first: int, last: int) -> str:
    """The lines that changed, with a few around them, so that the next edit needs no view."""
    return ends(split_lines(lf), first - AROUND, last + AROUND) or "[the file is empty now]"


def ends(lines: Sequence[str], first: int, last: int) -> str:
    """Lines `first` to `last`, numbered; of more than a few, the three at each end."""
    numbers = range(max(1, first), min(last, len(lines)) + 1)
    if len(numbers) <= 2 * _ENDS + 1:
        return "\n".join(_numbered(lines, number, _ECHO_LINE) for number in numbers)
    parts = [_numbered(lines, number, _ECHO_LINE) for number in (*numbers[:_ENDS], *numbers[-_ENDS:])]
    parts.insert(_ENDS, f"[{len(numbers) - 2 * _ENDS} lines]")
    return "\n".join(parts)


def within_echo(pieces: Iterable[str], rest: str) -> Iterator[str]:
    """The first pieces that fit into an edit's result, then `rest` where some did not."""
    left = _ECHO
    for piece in pieces:
        left -= len(piece) + 1
        if left < 0:
            yield rest
            return
        yield piece


def _numbered(lines: Sequence[str], number: int, most: int = _MAX_LINE) -> str:
    line = lines[number - 1]
    return f"{number}|{line}" if len(line) <= most else f"{number}|{line[:most]}[line goes on]"

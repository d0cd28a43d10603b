"""Numbered pieces of a file inside another result."""

from __future__ import annotations

from collections.abc import Sequence

from bot.workshop.host.text import split_lines

AROUND = 3

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
    return excerpt(split_lines(lf), first - AROUND, last + AROUND) or "[the file is empty now]"


def _numbered(lines: Sequence[str], number: int) -> str:
    line = lines[number - 1]
    return f"{number}|{line}" if len(line) <= _MAX_LINE else f"{number}|{line[:_MAX_LINE]}[line goes on]"

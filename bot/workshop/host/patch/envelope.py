"""The lines between a patch's markers: fences, here-documents and stray space that models put around them taken off."""

from __future__ import annotations

import re

from bot.workshop.host.patch.errors import PatchError, Problem

BEGIN, END = "*** Begin Patch", "*** End Patch"

_HEREDOC = re.compile(r"""(?:apply_patch\s+)?<<(?:EOF|'EOF'|"EOF")$""")
_FENCE = re.compile(r"```[\w-]*$")
_SHORTEST = 4

Numbered = tuple[int, str]
"""A line's number in the patch as it was sent, from 1, and its text."""


def unwrapped(text: str) -> list[Numbered]:
    """What stands between begin and end. Raises `PatchError` where either is missing.

    Only a line feed ends a line. Where every line ends with a carriage return too, those belong to no line.
    """
    lines = text.split("\n")
    if len(lines) > 1 and all(line.endswith("\r") for line in lines[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
    rows = _stripped(list(enumerate(lines, start=1)))
    if len(rows) >= 2 and _FENCE.match(rows[0][1].strip()) and rows[-1][1].strip() == "```":
        rows = _stripped(rows[1:-1])
    if len(rows) >= _SHORTEST and _HEREDOC.match(rows[0][1].strip()) and rows[-1][1].strip() == "EOF":
        rows = _stripped(rows[1:-1])
    problems: list[Problem] = []
    if not rows or rows[0][1].strip() != BEGIN:
        line = rows[0][0] if rows else 1
        problems.append(Problem(line, "", f'The first line must be "{BEGIN}".'))
    if not rows or rows[-1][1].strip() != END:
        line = rows[-1][0] if rows else 1
        problems.append(Problem(line, "", f'The last line must be "{END}". Send the whole patch.'))
    if problems:
        raise PatchError(problems)
    return rows[1:-1]


def _stripped(rows: list[Numbered]) -> list[Numbered]:
    """Without blank lines at both ends."""
    first, last = 0, len(rows)
    while first < last and not rows[first][1].strip():
        first += 1
    while last > first and not rows[last - 1][1].strip():
        last -= 1
    return rows[first:last]

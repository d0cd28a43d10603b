"""The tool host's unified diffs applied again: a journal keeps those, and not the bytes of every version."""

from __future__ import annotations

import codecs
import hashlib
import re

_HUNK = re.compile(r"@@ -(\d+),(\d+) \+\d+,(\d+) @@\Z")
_NO_END = "\\ No newline at end of file"

# As the tool host reads files: a mark decides, else UTF-8, else Latin-1, in which every byte survives.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
    (b"", "latin-1"),
)


def patched(before: bytes, diff: str, sha256: str) -> bytes | None:
    """`before` with `diff` applied: the bytes that have this hash; `None` where they cannot be had from it."""
    for mark, codec in _MARKS:
        if not before.startswith(mark):
            continue
        try:
            after = mark + apply(before[len(mark) :].decode(codec), diff).encode(codec)
        except ValueError:
            continue
        if hashlib.sha256(after).hexdigest() == sha256:
            return after
    return None


def apply(text: str, diff: str) -> str:
    """`text` as the diff makes it. Raises `ValueError` where the diff is not whole or is not of this text."""
    lines, rows = _lines(text), diff.split("\n")
    made: list[str] = []
    at = row = 0
    while row < len(rows) and not _HUNK.match(rows[row]):
        row += 1  # names of the file
    while row < len(rows) and (rows[row] or row + 1 < len(rows)):
        hunk = _HUNK.match(rows[row])
        if hunk is None:
            raise ValueError("the diff is not whole")
        first, old, new = (int(number) for number in hunk.groups())
        start = first - 1 if old else first
        if start < at:
            raise ValueError("hunks out of order")
        made += lines[at:start]
        at, row = _hunk(lines, start, rows, row + 1, old, new, made)
    return "".join(made + lines[at:])


def _hunk(
    lines: list[str], at: int, rows: list[str], row: int, old: int, new: int, made: list[str]
) -> tuple[int, int]:
    while old or new:
        if row >= len(rows) or not rows[row]:
            raise ValueError("a hunk is not whole")
        sign, line = rows[row][0], rows[row][1:] + "\n"
        row += 1
        if row < len(rows) and rows[row] == _NO_END:
            line, row = line[:-1], row + 1
        if sign in " -":
            if at >= len(lines) or lines[at] != line:
                raise ValueError("the text has other lines")
            at, old = at + 1, old - 1
        if sign in " +":
            made.append(line)
            new -= 1
    return at, row


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [*(line + "\n" for line in lines), *([last] if last else [])]

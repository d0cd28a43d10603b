"""Split a unified diff into rows with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

MOST_ROWS = 600
_LONGEST_ROW = 2_000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_KINDS = {"+": "add", "-": "del", " ": "same", "": "same", "\\": "head"}
_FILE_NAMES = ("--- ", "+++ ", "diff --git ", "index ")
"""The page names the file itself."""


class Row(NamedTuple):
    """`kind` is add, del, same, hunk, or head for a header line; `old` and `new` are line numbers."""

    kind: str
    old: int | None
    new: int | None
    text: str

    @property
    def sign(self) -> str:
        return {"add": "+", "del": "-", "same": " "}.get(self.kind, "")


class Diff(NamedTuple):
    """`left_out` is the number of further rows."""

    rows: Sequence[Row]
    left_out: int = 0


def diff_of(text: str, most: int = MOST_ROWS) -> Diff:
    rows = text.removesuffix("\n").split("\n")
    return Diff(list(_rows(map(_cut, rows[:most]))), max(0, len(rows) - most))


def _rows(rows: Iterable[str]) -> Iterator[Row]:
    old, new, in_hunk = 0, 0, False
    for row in rows:
        if hunk := _HUNK.match(row):
            old, new, in_hunk = int(hunk[1]), int(hunk[2]), True
            yield Row("hunk", None, None, row)
            continue
        in_hunk = in_hunk and row[:1] in _KINDS
        kind = _KINDS[row[:1]] if in_hunk else "head"
        if kind != "head":
            yield Row(kind, None if kind == "add" else old, None if kind == "del" else new, row[1:])
            old, new = old + (kind != "add"), new + (kind != "del")
        elif in_hunk or not row.startswith(_FILE_NAMES):
            yield Row(kind, None, None, row)


def _cut(row: str) -> str:
    return (
        row
        if len(row) <= _LONGEST_ROW
        else f"{row[:_LONGEST_ROW]} … {len(row) - _LONGEST_ROW:,} more characters"
    )

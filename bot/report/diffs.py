"""A unified diff as rows with line numbers and coloured code, for the page to show in one column or in two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.report.colours import Colours, Line, Piece

MOST_ROWS = 600
_LONGEST_ROW = 2_000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_KINDS = {"+": "add", "-": "del", " ": "same", "": "same"}


class Row(NamedTuple):
    """`kind` is add, del, same, hunk, or head for what is no line of a file; `old` and `new` are line numbers."""

    kind: str
    old: int | None
    new: int | None
    pieces: Line

    @property
    def sign(self) -> str:
        return {"add": "+", "del": "-", "same": " "}.get(self.kind, "")


class Diff(NamedTuple):
    """`left_out` is how many further rows the diff has."""

    rows: Sequence[Row]
    left_out: int = 0


def diff_of(text: str, path: str, colours: Colours, most: int = MOST_ROWS) -> Diff:
    rows = text.removesuffix("\n").split("\n")
    left_out = max(0, len(rows) - most)
    return Diff(list(_rows([_cut(row) for row in rows[:most]], path, colours)), left_out)


def _rows(rows: Sequence[str], path: str, colours: Colours) -> Iterator[Row]:
    at = 0
    while at < len(rows):
        hunk = _HUNK.match(rows[at])
        if hunk is None:
            # Names of files: whoever shows the diff has said which file it is.
            if not rows[at].startswith(("--- ", "+++ ", "diff --git ", "index ")):
                yield Row("head", None, None, (Piece("", rows[at]),))
            at += 1
            continue
        yield Row("hunk", None, None, (Piece("", rows[at]),))
        end = next(
            (
                place
                for place in range(at + 1, len(rows))
                if rows[place][:1] not in _KINDS and rows[place][:1] != "\\"
            ),
            len(rows),
        )
        yield from _hunk(rows[at + 1 : end], int(hunk[1]), int(hunk[2]), path, colours)
        at = end


def _hunk(rows: Sequence[str], old: int, new: int, path: str, colours: Colours) -> Iterator[Row]:
    """Each side is coloured as a text of its own, so that a string over several lines stays one."""
    before = iter(colours.lines(path, "\n".join(row[1:] for row in rows if row[:1] in ("-", " ", ""))))
    after = iter(colours.lines(path, "\n".join(row[1:] for row in rows if row[:1] in ("+", " ", ""))))
    for row in rows:
        kind = _KINDS.get(row[:1])
        if kind is None:
            yield Row("head", None, None, (Piece("", row),))
        elif kind == "add":
            yield Row(kind, None, new, next(after))
            new += 1
        elif kind == "del":
            yield Row(kind, old, None, next(before))
            old += 1
        else:
            next(before)
            yield Row(kind, old, new, next(after))
            old, new = old + 1, new + 1


def _cut(row: str) -> str:
    return (
        row
        if len(row) <= _LONGEST_ROW
        else f"{row[:_LONGEST_ROW]} … {len(row) - _LONGEST_ROW:,} more characters"
    )

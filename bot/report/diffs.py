"""Convert a unified diff to rows with line numbers and code highlighted by Pygments, for one column or two.

Only common lexers are used, chosen by file name, and only up to a budget: their input is hostile, and some patterns are
slow on it (Java's: half a minute for 20 kB of one word). Beyond the budget, text stays plain.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pygments.lexers import get_lexer_for_filename

from bot.evidence.pieces import Line, Piece

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MOST_ROWS = 600
_LONGEST_ROW = 2_000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_KINDS = {"+": "add", "-": "del", " ": "same", "": "same"}


class Row(NamedTuple):
    """`kind` is add, del, same, hunk, or head for a header line; `old` and `new` are line numbers."""

    kind: str
    old: int | None
    new: int | None
    pieces: Line

    @property
    def sign(self) -> str:
        return {"add": "+", "del": "-", "same": " "}.get(self.kind, "")


class Diff(NamedTuple):
    """`left_out` is the number of further rows."""

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
            # Names of files: the page names the file itself.
            if not rows[at].startswith(("--- ", "+++ ", "diff --git ", "index ")):
                yield Row("head", None, None, (Piece("", rows[at]),))
            at += 1
            continue
        yield Row("hunk", None, None, (Piece("", rows[at]),))
        end = next(
            (
                index
                for index in range(at + 1, len(rows))
                if rows[index][:1] not in _KINDS and rows[index][:1] != "\\"
            ),
            len(rows),
        )
        yield from _hunk(rows[at + 1 : end], int(hunk[1]), int(hunk[2]), path, colours)
        at = end


def _hunk(rows: Sequence[str], old: int, new: int, path: str, colours: Colours) -> Iterator[Row]:
    """Highlight each side as a text of its own, so that strings over several lines are recognised."""
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


BUDGET = 400_000
"""Characters of one page."""

_SECONDS = 4.0
"""Processor time of one page. An ordinary one takes less than a second."""

_LONGEST = 20_000
_LONGEST_LINE = 400
_LEXED = re.compile(
    r"\.(?:pyi?|[cm]?js|[jt]sx|ts|go|rs|[ch](?:pp)?|cc|java|kt|rb|php|cs|swift|(?:ba)?sh|json|toml|ya?ml|css|sql)"
)
_CLASSES = (
    ("Comment", "c"),
    ("Keyword", "k"),
    ("Literal.String", "s"),
    ("Literal.Number", "m"),
    ("Name.Function", "f"),
    ("Name.Class", "f"),
    ("Name.Decorator", "f"),
    ("Name.Builtin", "b"),
    ("Name.Tag", "k"),
    ("Name.Attribute", "b"),
    ("Operator.Word", "k"),
)


class Colours:
    """Highlights the code of one page within its budget."""

    def __init__(self, budget: int = BUDGET, seconds: float = _SECONDS) -> None:
        self._left = budget
        self._seconds = seconds
        self._lexers: dict[str, Lexer] = {}
        self._kinds: dict[object, str] = {}

    def lines(self, path: str, text: str) -> list[Line]:
        """Return the highlighted lines of `text`, with the same characters."""
        rows = text.split("\n")
        lexer = self._lexer(path)
        too_much = len(text) > min(_LONGEST, self._left) or any(len(row) > _LONGEST_LINE for row in rows)
        if lexer is None or too_much:
            return [(Piece("", row),) for row in rows]
        self._left -= len(text)
        began = time.thread_time()
        coloured = list(self._split(lexer, text, began + self._seconds))
        self._seconds -= time.thread_time() - began
        plain = ["".join(piece.text for piece in line) for line in coloured]
        return coloured if plain == rows else [(Piece("", row),) for row in rows]

    def _lexer(self, path: str) -> Lexer | None:
        suffix = PurePosixPath(path).suffix.lower()
        if suffix not in self._lexers and _LEXED.fullmatch(suffix):
            self._lexers[suffix] = get_lexer_for_filename(f"x{suffix}", stripnl=False, ensurenl=False)
        return self._lexers.get(suffix)

    def _split(self, lexer: Lexer, text: str, until: float) -> Iterator[Line]:
        """Stop at the time `until`: then the lines are incomplete, and the caller leaves them plain."""
        line: list[Piece] = []
        for count, (token, value) in enumerate(lexer.get_tokens(text)):
            if count % 32 == 0 and time.thread_time() >= until:
                self._left = 0
                return
            kind = self._kind(token)
            for number, part in enumerate(value.split("\n")):
                if number:
                    yield tuple(line)
                    line = []
                if not part:
                    continue
                if line and (line[-1].kind == kind or not part.strip()):
                    line[-1] = Piece(line[-1].kind, line[-1].text + part)
                else:
                    line.append(Piece(kind, part))
        yield tuple(line)

    def _kind(self, token: object) -> str:
        if token not in self._kinds:
            name = str(token).removeprefix("Token.")
            self._kinds[token] = next((kind for start, kind in _CLASSES if name.startswith(start)), "")
        return self._kinds[token]

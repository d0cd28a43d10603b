"""A line of text for people that says which parts of it are names and which were written by others.

A printer escapes each part by its kind: Markdown, HTML and a terminal do it differently.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple


class Piece(NamedTuple):
    """`kind` is `code` for a command, a path or the name of a test, `quote` for other text that is not ours, `strong`,
    or empty for our words; in highlighted code that of a token."""

    kind: str
    text: str


Line = Sequence[Piece]


code, quote, strong = (partial(Piece, kind) for kind in ("code", "quote", "strong"))


def line(*parts: str | Piece | Line) -> Line:
    """Return a line; strings are our words."""
    pieces: list[Piece] = []
    for part in parts:
        if isinstance(part, str):
            pieces += [Piece("", part)] if part else []
        elif isinstance(part, Piece):
            pieces.append(part)
        else:
            pieces += part
    return tuple(pieces)


def joined(lines: Iterable[Line], by: str = ", ") -> Line:
    parts: list[Piece] = []
    for one in filter(None, lines):
        parts += [*([Piece("", by)] if parts else []), *one]
    return tuple(parts)


def names(listed: Sequence[str], most: int, number: int = 0, noun: str = "") -> Line:
    """Return the first `most` names, and how many more there are of `number`, at least those listed."""
    more = max(number, len(listed)) - len(listed[:most])
    further = f"{more:,} more {noun}{'s' if noun and more > 1 else ''}".rstrip()
    return line(joined([line(code(name)) for name in listed[:most]]), f" and {further}" if more else "")


def plain(one: Line, ticks: str = "") -> str:
    """Return the text alone, with `ticks` around code."""
    return "".join(f"{ticks}{piece.text}{ticks}" if piece.kind == "code" else piece.text for piece in one)

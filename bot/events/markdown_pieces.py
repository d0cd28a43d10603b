"""Markdown of the pieces that an element of a page holds. A piece is its kind and its text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

Piece = tuple[str, str]
INLINE, BLOCK = "inline", "block"
"""Kinds of pieces; the others are `list`, `li`, `row`, `td` and `th`."""

_TICKS = re.compile("`+")


def indented(marker: str, text: str, further: str = "") -> str:
    """Return `text` with `marker` before its first line, and `further` or as many blanks before the others."""
    further = further or " " * len(marker)
    return marker + text.replace("\n", f"\n{further}").replace(f"\n{further}\n", f"\n{further.rstrip()}\n")


def raw(pieces: Iterable[Piece]) -> str:
    return "".join(text for _, text in pieces)


def longest_ticks(code: str) -> int:
    return max(map(len, _TICKS.findall(code)), default=0)


def code_span(code: str) -> str:
    """Return code in backticks, within the marks that `drawn_formulas` knows code by."""
    ticks = "`" * (longest_ticks(code) + 1)
    space = " " if code.startswith("`") or code.endswith("`") else ""
    return f"\0{ticks}{space}{code}{space}{ticks}\0" if code else ""


def flow(pieces: Iterable[Piece]) -> str:
    """Join pieces: blocks with an empty line between them, items and rows without one."""
    parts: list[str] = []
    before = ""
    for kind, group in groupby(pieces, key=lambda piece: piece[0]):
        texts = [text for _, text in group]
        if kind == INLINE:
            texts = ["".join(texts).strip().replace(" \n", "\n")]
        for text in filter(None, texts):
            is_tight = before == kind in ("li", "row") or (before == INLINE and kind == "list")
            parts += ("\n" if is_tight else "\n\n" if parts else "", text)
            before = kind
    return "".join(parts)


def row(pieces: Iterable[Piece]) -> list[Piece]:
    """A browser shows what is in a row and in no cell before the table."""
    cells: list[Piece] = []
    others: list[Piece] = []
    for piece in pieces:
        (cells if piece[0] in ("td", "th") else others).append(piece)
    if not cells:
        return others
    row = f"| {' | '.join(text for _, text in cells)} |"
    is_head = all(kind == "th" for kind, _ in cells)
    return [*others, ("row", f"{row}\n|{'---|' * len(cells)}" if is_head else row)]

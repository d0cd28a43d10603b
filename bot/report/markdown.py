"""The little of Markdown that models write, as blocks for the templates to escape: paragraphs, items, headings, code.

Nothing becomes a link, a picture or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bot.report.colours import Line, Piece

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s{0,6}(?:[-*+]|\d{1,3}[.)]) +")
_HEADING = re.compile(r"#{1,6} +")
_INLINE = re.compile(r"(`{1,3})([^`]+)\1|\*\*([^*]+)\*\*")
_LONGEST_LINE = 2_000


class Block(NamedTuple):
    """`kind` is p, li, h or pre. Pieces are of the kind code, strong, or empty."""

    kind: str
    pieces: Line


def blocks(text: str) -> Iterator[Block]:
    fence, code, paragraph = "", list[str](), list[str]()
    for row in text.split("\n"):
        if fence:
            if row.strip() == fence:
                yield Block("pre", (Piece("", "\n".join(code)),))
                fence, code = "", []
            else:
                code.append(row)
            continue
        opening = _FENCE.match(row)
        item, heading = _ITEM.match(row), _HEADING.match(row)
        if (opening or item or heading or not row.strip()) and paragraph:
            yield Block("p", _pieces("\n".join(paragraph)))
            paragraph = []
        if opening:
            fence = opening[1]
        elif item or heading:
            begun = (item or heading)[0]  # type: ignore[index]  # one of them is there
            yield Block("li" if item else "h", _pieces(row[len(begun) :]))
        elif row.strip():
            paragraph.append(row)
    if paragraph:
        yield Block("p", _pieces("\n".join(paragraph)))
    if code:
        yield Block("pre", (Piece("", "\n".join(code)),))


def _pieces(text: str) -> Line:
    if any(len(row) > _LONGEST_LINE for row in text.split("\n")):
        return (Piece("", text),)
    found: list[Piece] = []
    at = 0
    for inline in _INLINE.finditer(text):
        found.append(Piece("", text[at : inline.start()]))
        found.append(Piece("code", inline[2]) if inline[2] else Piece("strong", inline[3]))
        at = inline.end()
    return tuple(piece for piece in (*found, Piece("", text[at:])) if piece.text)

"""Format text for the page: figures, shortened and escaped text, and the simple Markdown of models as blocks.

Characters that hide or reverse text become visible escapes, and only web addresses become links. Markdown does not
become links, pictures or HTML. The template engine escapes HTML.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bot.contracts.formatting import duration, money
from bot.evidence.pieces import Line, Piece

LONGEST = 24_000
"""The most characters of one text on a page."""


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return a text without its middle if it is too long, with the number of missing characters."""
    if len(text) <= longest:
        return text
    head, tail = text[: longest * 2 // 3], text[-longest // 3 :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n… {missing:,} characters are left out here; the rest is in the journal …\n{tail}"


def usd(amount: float) -> str:
    return money(amount, 4 if amount < 0.1 else 2)


def tokens(many: float) -> str:
    """Return a short number for an axis: `950`, `12k`, `1.5M`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if many >= size:
            return f"{many / size:.3g}{letter}"
    return f"{many:.3g}"


def seconds_on_axis(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 100 else duration(seconds)


def plain_word(value: str) -> str:
    """Return `not runnable` for `not_runnable`."""
    return value.replace("_", " ")


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ALLOWED = "\n\t"
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def make_visible() -> Callable[[object], object]:
    """Return a function that makes invisible characters of a text visible. Markup is unchanged: its values were
    converted before."""
    escapes = _Escapes()

    def visible(value: object) -> object:
        if not isinstance(value, str) or hasattr(value, "__html__"):
            return value
        if value.isascii() and not _CONTROLS.search(value):
            return value
        return value.translate(escapes)

    return visible


class _Escapes(dict[int, str]):
    """The replacement of each character, cached."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        hides = character not in _ALLOWED and unicodedata.category(character) in _HIDING
        replacement = self[code] = _escape(code) if hides else character
        return replacement


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def safe_link(url: str) -> str:
    """Return `url` if it is a web address, else an empty string: a journal could contain `javascript:`."""
    return url if url.startswith(("https://", "http://")) else ""


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"\s{0,6}(?:[-*+]|\d{1,3}[.)]) +")
_HEADING = re.compile(r"#{1,6} +")
_INLINE = re.compile(r"(`{1,3})([^`]+)\1|\*\*([^*]+)\*\*")
_LONGEST_LINE = 2_000


class Block(NamedTuple):
    """`kind` is p, li, h or pre; that of a piece is code, strong, or empty."""

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
    parts: list[Piece] = []
    at = 0
    for inline in _INLINE.finditer(text):
        parts.append(Piece("", text[at : inline.start()]))
        parts.append(Piece("code", inline[2]) if inline[2] else Piece("strong", inline[3]))
        at = inline.end()
    return tuple(piece for piece in (*parts, Piece("", text[at:])) if piece.text)

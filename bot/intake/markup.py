"""Markup that a page does not show: alternative texts and titles, elements that are off the screen, and entities that
stand for nothing. Outside of code, where all of it is seen as it is written. A folded `<details>` is one click away
from everybody, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bot.intake.code import BEGIN, END
from bot.intake.drawn import shown_code, without_surplus_cells, without_undrawn
from bot.intake.elements import BREAK, TAKEN_OUT, TEXT, without_elements
from bot.intake.entities import Entities
from bot.intake.found import Found, lines_of, lines_with
from bot.intake.unshown import without_unshown

# Splits into text, code, text ...
_CODE = re.compile(f"{BEGIN}([^{BEGIN}{END}]*+){END}")
_NO_MARKS = {ord(BEGIN): None, ord(END): None}
_IMAGE = re.compile(r"!\[((?:[^\[\]\\\n\0]|\\[^\n\0]){1,2000})\](?=[\[(])")
# Splits into text, what stays of a link with a title, text ...
_TITLE = re.compile(
    r"""(\]\(\s{0,9}[^\s()\0]{1,2000})\s++(?:"[^"\n\0]{1,2000}"|'[^'\n\0]{1,2000}')(?=\s{0,9}\))"""
)


class Markup:
    """`visible` takes characters out that show nothing, `BREAK` among them: so none is in a text that is given."""

    def __init__(self, visible: Callable[[str], str]) -> None:
        self._entities = Entities(visible)

    def without_hidden(self, text: str, found: Found) -> str:
        """The marked `text` without its marks and what is hidden in it, which goes to `found`."""
        text = without_surplus_cells(text, found)
        if BEGIN not in text and END not in text:
            return self._cleaned(text, found)
        parts = _CODE.split(text)
        codes = _shown_codes(parts, found)
        if text.count(BEGIN) + text.count(END) > 2 * len(codes):
            # A comment took the other mark with it.
            parts[::2] = [part.translate(_NO_MARKS) for part in parts[::2]]
        # Code is stood for by its ends of lines, for the numbers of the lines.
        parts[1::2] = ["\n" * code.count("\n") if "\n" in code else "" for code in codes]
        text = self._cleaned(BREAK.join(parts), found)
        parts = text.split(BREAK)
        if TAKEN_OUT in text:
            codes = ["" if TAKEN_OUT in part else code for part, code in zip(parts[1::2], codes, strict=True)]
        parts[1::2] = codes
        return "".join(parts)

    def _cleaned(self, text: str, found: Found) -> str:
        if not any(sign in text for sign in ("<", "&", "](", "][", "![", "]:", "$")):
            return text
        text = without_undrawn(without_unshown(text, found), found)
        text = self._entities.without(without_elements(text, found), found)
        shown, count = _IMAGE.subn("![]", text)
        found.add(TEXT, count, lines_with(_IMAGE, text))
        parts = _TITLE.split(shown)
        found.add(TEXT, len(parts) // 2, _lines(_TITLE, shown))
        return "".join(parts)


def _shown_codes(parts: list[str], found: Found) -> list[str]:
    codes: list[str] = []
    lines = 0
    for before, code in zip(parts[::2], parts[1::2], strict=False):
        lines += before.count("\n")
        codes.append(shown_code(code, before[-1:], lines, found))
        lines += code.count("\n")
    return codes


def _lines(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    return lines_of(text, (one.start() for one in pattern.finditer(text)))

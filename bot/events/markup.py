"""Markup that a page does not show: alternative texts and titles, elements that are off the screen, and entities that
stand for nothing. Outside of code, where all of it is seen as it is written. A folded `<details>` is one click away
from everybody, and stays.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from bot.events.code import BEGIN, END
from bot.events.elements import BREAK, TAKEN_OUT, TEXT, without_elements
from bot.events.removals import Removals, lines_of, lines_with
from bot.events.rendering import rendered_code, without_surplus_cells, without_undrawn, without_unreferenced

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

    def without_hidden(self, text: str, removals: Removals) -> str:
        """Remove the marks and hidden text from the marked `text`; count it in `removals`."""
        text = without_surplus_cells(text, removals)
        if BEGIN not in text and END not in text:
            return self._cleaned(text, removals)
        parts = _CODE.split(text)
        codes = _rendered_codes(parts, removals)
        if text.count(BEGIN) + text.count(END) > 2 * len(codes):
            # A comment took the other mark with it.
            parts[::2] = [part.translate(_NO_MARKS) for part in parts[::2]]
        # Code is stood for by its ends of lines, for the numbers of the lines.
        parts[1::2] = ["\n" * code.count("\n") if "\n" in code else "" for code in codes]
        text = self._cleaned(BREAK.join(parts), removals)
        parts = text.split(BREAK)
        if TAKEN_OUT in text:
            codes = ["" if TAKEN_OUT in part else code for part, code in zip(parts[1::2], codes, strict=True)]
        parts[1::2] = codes
        return "".join(parts)

    def _cleaned(self, text: str, removals: Removals) -> str:
        if not any(sign in text for sign in ("<", "&", "](", "][", "![", "]:", "$")):
            return text
        text = without_undrawn(without_unreferenced(text, removals), removals)
        text = self._entities.remove_invisible(without_elements(text, removals), removals)
        remaining_text, count = _IMAGE.subn("![]", text)
        removals.add(TEXT, count, lines_with(_IMAGE, text))
        parts = _TITLE.split(remaining_text)
        removals.add(TEXT, len(parts) // 2, _lines(_TITLE, remaining_text))
        return "".join(parts)


def _rendered_codes(parts: list[str], removals: Removals) -> list[str]:
    codes: list[str] = []
    lines = 0
    for before, code in zip(parts[::2], parts[1::2], strict=False):
        lines += before.count("\n")
        codes.append(rendered_code(code, before[-1:], lines, removals))
        lines += code.count("\n")
    return codes


def _lines(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    return lines_of(text, (one.start() for one in pattern.finditer(text)))


ENTITY = "invisible character reference"

_ENTITY = re.compile(r"(&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,30});)")


class Entities:
    """Removes references to invisible characters. `visible` removes invisible characters; each reference is classified
    once."""

    def __init__(self, visible: Callable[[str], str]) -> None:
        self._visible = visible
        self._known: set[str] = set()
        self._nothing: set[str] = set()

    def remove_invisible(self, text: str, removals: Removals) -> str:
        """`text` without those that stand for nothing."""
        # Every second part is one.
        parts = _ENTITY.split(text)
        references = set(parts[1::2])
        self._classify(list(references - self._known))
        invisible = references & self._nothing
        if not invisible:
            return text
        remaining = [part for part in parts if part not in invisible]
        removals.add(
            ENTITY, len(parts) - len(remaining), lines_with(_ENTITY, text, lambda one: one[0] in invisible)
        )
        return "".join(remaining)

    def _classify(self, references: list[str]) -> None:
        """All in one go, each between two letters on a line of its own."""
        self._known.update(references)
        candidates = [
            (one, stands)
            for one, stands in zip(references, map(_character, references), strict=True)
            if one != stands and "\n" not in stands and not stands.isspace()
        ]
        seen = self._visible("\n".join([f"a{stands}a" for _, stands in candidates])).split("\n")
        self._nothing.update(
            one for (one, _), visible in zip(candidates, seen, strict=False) if visible == "aa"
        )


def _character(references: str) -> str:
    """As `html.unescape` has it, and sooner for most."""
    if references[1] == "#":
        code = int(references[3:-1], 16) if references[2] in "xX" else int(references[2:-1])
        if 0x9F < code < 0xD800 or 0xE000 <= code < 0xFDD0 or 0x10000 <= code < 0x1FFFE:
            return chr(code)
    return html.unescape(references)

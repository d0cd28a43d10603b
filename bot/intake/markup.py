"""Markup that a page does not show: alternative texts and titles, elements that are off the screen, and entities that
stand for nothing. Outside of code, where all of it is seen as it is written. A folded `<details>` is one click away
from everybody, and stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from bot.intake.elements import BREAK, TEXT, without_elements
from bot.intake.entities import Entities
from bot.intake.found import Found, lines_of, lines_with
from bot.intake.unshown import without_unshown

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)")
# Splits into text, code, its ticks, text ...
_SPAN = re.compile(r"((`(?<!``)`{0,8}+)(?!`)[^`\n]++(?:(?!\2(?!`))`++[^`\n]++)*+\2(?!`))")
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
        """`text` without what is hidden in it, which goes to `found`."""
        if not any(sign in text for sign in ("<", "&", "](", "![", "]:")):
            return text
        if "`" not in text and "~~~" not in text:
            return self._cleaned(text, found)
        shown, codes = _without_code(text)
        parts = self._cleaned(shown, found).split(BREAK)
        parts[1::2] = codes
        return "".join(parts)

    def _cleaned(self, text: str, found: Found) -> str:
        text = without_unshown(text, found)
        text = self._entities.without(without_elements(text, found), found)
        shown, count = _IMAGE.subn("![]", text)
        found.add(TEXT, count, lines_with(_IMAGE, text))
        parts = _TITLE.split(shown)
        found.add(TEXT, len(parts) // 2, _lines(_TITLE, shown))
        return "".join(parts)


def _lines(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    return lines_of(text, (one.start() for one in pattern.finditer(text)))


def _without_code(text: str) -> tuple[str, list[str]]:
    """The text with its code, each fenced block and each span on one line, between two `BREAK`s. All that is left
    of it there is its ends of lines, for the numbers of the lines."""
    shown, codes = [], []
    for is_block, part in _blocks(text):
        if is_block:
            shown.append(BREAK + "\n" * part.count("\n") + BREAK)
            codes.append(part)
        else:
            spans = _SPAN.split(part)
            shown.append((BREAK + BREAK).join(spans[::3]))
            codes += spans[1::3]
    return "".join(shown), codes


def _blocks(text: str) -> Iterator[tuple[bool, str]]:
    part: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if fence:
            part.append(line)
            if found and found.group(1).startswith(fence) and not line[found.end() :].strip():
                yield True, "".join(part)
                part, fence = [], ""
        elif found:
            yield False, "".join(part)
            part, fence = [line], found.group(1)
        else:
            part.append(line)
    yield bool(fence), "".join(part)

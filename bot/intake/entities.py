"""Character references that stand for nothing that shows."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from bot.intake.found import Found, lines_with

ENTITY = "invisible character reference"

_ENTITY = re.compile(r"(&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,30});)")


class Entities:
    """`visible` takes characters out that show nothing. What each reference stands for is looked up once."""

    def __init__(self, visible: Callable[[str], str]) -> None:
        self._visible = visible
        self._known: set[str] = set()
        self._nothing: set[str] = set()

    def without(self, text: str, found: Found) -> str:
        """`text` without those that stand for nothing."""
        # Every second part is one.
        parts = _ENTITY.split(text)
        written = set(parts[1::2])
        self._look_up(list(written - self._known))
        gone = written & self._nothing
        if not gone:
            return text
        left = [part for part in parts if part not in gone]
        found.add(ENTITY, len(parts) - len(left), lines_with(_ENTITY, text, lambda one: one[0] in gone))
        return "".join(left)

    def _look_up(self, written: list[str]) -> None:
        """All in one go, each between two letters on a line of its own."""
        self._known.update(written)
        asked = [
            (one, stands) for one, stands in zip(written, map(_meant, written), strict=True)
            if one != stands and "\n" not in stands and not stands.isspace()
        ]  # fmt: skip
        seen = self._visible("\n".join([f"a{stands}a" for _, stands in asked])).split("\n")
        self._nothing.update(one for (one, _), shown in zip(asked, seen, strict=False) if shown == "aa")


def _meant(written: str) -> str:
    """As `html.unescape` has it, and sooner for most."""
    if written[1] == "#":
        code = int(written[3:-1], 16) if written[2] in "xX" else int(written[2:-1])
        if 0x9F < code < 0xD800 or 0xE000 <= code < 0xFDD0 or 0x10000 <= code < 0x1FFFE:
            return chr(code)
    return html.unescape(written)

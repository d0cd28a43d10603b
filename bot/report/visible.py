"""What strangers wrote, made safe to look at: characters that hide text or turn it around become visible escapes, and
only addresses that a browser may follow stay links. Escaping for HTML is the template engine's part."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_KEPT = "\n\t"
_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def make_visible() -> Callable[[object], object]:
    """A function that does it to every text given. What has markup went through it before, value by value."""
    escapes = _Escapes()

    def visible(value: object) -> object:
        if not isinstance(value, str) or hasattr(value, "__html__"):
            return value
        if value.isascii() and not _CONTROLS.search(value):
            return value
        return value.translate(escapes)

    return visible


class _Escapes(dict[int, str]):
    """What each character met so far is shown as."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        hides = character not in _KEPT and unicodedata.category(character) in _HIDING
        shown = self[code] = _escape(code) if hides else character
        return shown


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def safe_link(url: str) -> str:
    """`url` where a browser may follow it, else nothing: a journal could name `javascript:`."""
    return url if url.startswith(("https://", "http://")) else ""

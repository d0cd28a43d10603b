"""Lines and columns between a text and the protocol, which counts columns in the units of an encoding."""

from __future__ import annotations

import re

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
OFFERED = (UTF8, UTF16)

_LINE_END = re.compile(r"\r\n|\n|\r")
_LAST_OF_BMP = "\uffff"


def lines_of(text: str) -> list[str]:
    """Lines without their ends, by the protocol's three line ends and no other (`splitlines` knows more)."""
    return _LINE_END.split(text) if "\r" in text else text.split("\n")


def units(text: str, encoding: str) -> int:
    """How long `text` is in an encoding."""
    if text.isascii() or encoding == UTF32:
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "replace"))
    return len(text) + sum(c > _LAST_OF_BMP for c in text)


def code_points(line: str, character: int, encoding: str) -> int:
    """A column of the protocol, from 0, as one of Python: how many letters are before it. What lies within a letter
    counts as before it, what lies behind the line as its end."""
    if line.isascii() or encoding == UTF32:
        return min(character, len(line))
    codec, width = ("utf-8", 1) if encoding == UTF8 else ("utf-16-le", 2)
    before = line[:character].encode(codec, "replace")[: width * character]
    return len(before.decode(codec, "ignore"))


def end_of(text: str, encoding: str) -> tuple[int, int]:
    """Line and column, both from 0, behind the last letter of a text."""
    if "\r" not in text:
        return text.count("\n"), units(text[text.rfind("\n") + 1 :], encoding)
    lines = lines_of(text)
    return len(lines) - 1, units(lines[-1], encoding)

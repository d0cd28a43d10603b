"""Text by anybody on its way to a terminal: nothing in it is a sequence, and what cannot be seen is an escape."""

from __future__ import annotations

from bot.contracts.plain_text import named, printable

_TAB = 4


def one_line(text: str) -> str:
    return named(" ".join(printable(text).split()))


def lines_of(text: str) -> list[str]:
    """Line by line, with indentation kept."""
    return [named(line.expandtabs(_TAB)) for line in printable(text).split("\n")]


def encodable(text: str, encoding: str) -> str:
    """`text` in what the terminal's encoding has; the rest by its escape."""
    if speaks_unicode(encoding):
        return text
    plain = text.replace("…", "...").replace("·", "-")
    return plain.encode(encoding, "backslashreplace").decode(encoding)


def speaks_unicode(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-", "utf8"))

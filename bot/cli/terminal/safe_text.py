"""Make untrusted text safe for a terminal: no control sequences; invisible characters as escapes."""

from __future__ import annotations

from bot.contracts.plain_text import printable, printable_name

_TAB = 4


def one_line(text: str) -> str:
    return printable_name(" ".join(printable(text).split()))


def lines_of(text: str) -> list[str]:
    """Line by line, with indentation kept."""
    return [printable_name(line.expandtabs(_TAB)) for line in printable(text).split("\n")]


def encodable(text: str, encoding: str) -> str:
    """`text` in what the terminal's encoding has; the rest by its escape."""
    if speaks_unicode(encoding):
        return text
    plain = text.replace("…", "...").replace("·", "-")
    return plain.encode(encoding, "backslashreplace").decode(encoding)


def speaks_unicode(encoding: str) -> bool:
    return encoding.lower().replace("_", "-").startswith(("utf-", "utf8"))

"""Text by anybody made fit for a terminal, a log and a prompt: no sequence in it is carried out, no name in it hides
anything, and nothing of it looks like a line of ours.

A sentence of ours to the model may hold what others chose (a path, a branch, a command, an error message) only through
`quoted`, `quoted_names` or `quoted_lines`; longer texts of others stand between the markers of `bot.agent.task`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# ECMA-48 (5th edition), in its seven-bit and its eight-bit form. Each string is bounded, and so is the search for its
# end: one that never ends would else hide what follows, and many that never end would take a quadratic time.
_STRING = r"[^\x07\x1b\x90-\x9f\n]{0,4096}"
SEQUENCES = re.compile(
    rf"(?:\x1b\]|\x9d){_STRING}(?:\x07|\x1b\\|\x9c)"  # operating system command: titles, links, the clipboard
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_STRING}(?:\x1b\\|\x9c)"  # device control and other strings
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    r"|\x1b[ -/]*[0-~]"  # any other escape
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but for newline and tab."""


def printable(text: str) -> str:
    """`text` without terminal sequences and control characters; carriage returns become line ends, since what they
    would write over was printed too."""
    return CONTROLS.sub("", SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def named(name: str) -> str:
    """A file's or a branch's name on one line: whatever cannot be seen in it is shown by its escape."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def quoted(value: str, most: int = 300) -> str:
    """`value` in backticks: on one line, at most about `most` characters, and nothing in it ends the quotation."""
    shown = named(value).replace("`", "\\x60")
    return f"`{shown if len(shown) <= most else f'{shown[:most]}…'}`"


def quoted_names(names: Sequence[str], most: int, longest: int = 300) -> str:
    """The first `most` of `names`, each quoted, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(quoted(name, longest) for name in names[:most]) + more


def quoted_lines(text: str) -> str:
    """Every line of `text` marked with `| `, whatever character ends it."""
    return "\n".join(f"| {line}".rstrip() for line in printable(text).rstrip().splitlines())

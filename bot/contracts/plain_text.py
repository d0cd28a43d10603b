"""Text by anybody made fit for a terminal and a log: no sequence in it is carried out, no name in it hides anything."""

from __future__ import annotations

import re

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

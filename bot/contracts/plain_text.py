"""Make untrusted text safe for a terminal, a log and a prompt: no escape sequences, no invisible characters in
names, and no line that looks like one of ours.

A sentence of ours to the model contains untrusted values (a path, a branch, a command, an error message) only
through `quoted`, `quoted_names` or `quoted_lines`; longer untrusted texts stand between the markers of
`bot.agent.first_message`.
"""

import os
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
"""Control characters except newline and tab."""
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
"""Characters that show nothing: controls, blank letters, marks of format and direction, tags, selectors of variants,
halves of surrogate pairs. Those of private use count as well; joiners and the selector of emoji do not."""


def utf8(text: str | os.PathLike[str]) -> str:
    """Return an argument or a path, which are bytes, with U+FFFD for what is not UTF-8."""
    return os.fsencode(text).decode(errors="replace")


def printable(text: str) -> str:
    """Return `text` without terminal sequences and control characters. Carriage returns become line ends, so
    that overwritten text stays visible."""
    return CONTROLS.sub("", SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def printable_name(name: str) -> str:
    """Return a file or branch name on one line, with invisible characters and bytes that are no UTF-8 escaped."""
    if name.isascii() and name.isprintable():
        return name
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return "".join(escaped).replace("\\udc", "\\x")


def quoted(value: str, limit: int = 300) -> str:
    """Return `value` in backticks: one line, at most about `limit` characters, without a backtick inside."""
    name = printable_name(value).replace("`", "\\x60")
    return f"`{name if len(name) <= limit else f'{name[:limit]}…'}`"


def quoted_names(names: Sequence[str], max_names: int, max_length: int = 300) -> str:
    """Return the first `max_names` of `names`, each quoted, and the number of the others."""
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(quoted(name, max_length) for name in names[:max_names]) + more


def quoted_lines(text: str) -> str:
    """Return `text` with `| ` before every line, whatever character ends it."""
    return "\n".join(f"| {line}".rstrip() for line in printable(text).rstrip().splitlines())

"""Say in one line why a test failed, by the lines of a runner or of a JUnit report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.ecosystems.test_results import DETAIL, REASON_LINES

_LONGEST = 200
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LOGGED = re.compile(r" +[\w./-]+\.go:\d+: ?(.*)")
_LOCATION = re.compile(r"(?:at |> |\d+ \||# \.|stack backtrace:|note: ).*")
_NO_REASON = frozenset({"", "failed", "failure", "error", "collection failure", "test failed"})


def one_line(lines: Sequence[str]) -> str:
    """The first line with a message, and the expected and received values if they follow."""
    plain = [_COLOUR.sub("", line[: 4 * _LONGEST]).strip() for line in lines[:REASON_LINES]]
    filled = [line for line in plain if line]
    if not filled:
        return ""
    if filled[0].endswith(":") and len(filled) > 1 and not DETAIL.fullmatch(filled[1]):
        filled[:2] = [f"{filled[0]} {filled[1]}"]
    details = []
    for line in filled[1:]:
        if _LOCATION.fullmatch(line):
            break
        if DETAIL.fullmatch(line):
            details.append(line)
    reason = "; ".join([filled[0], *details[:2]])
    reason = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    return reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 1]}…"


def of_junit(message: str, text: str) -> Sequence[str]:
    """The message of a failure, or its text if the message says no more than that it failed."""
    lines = text.splitlines()
    if message.strip().lower() not in _NO_REASON:
        return message.splitlines()
    marked = [line[1:] for line in lines if line.startswith("E   ")]
    return (
        marked[-1:]
        or [match[1] for line in lines if (match := _LOGGED.fullmatch(line)) and match[1]]
        or lines
    )

"""Say in one line why a test failed, by the output of its runner or by a JUnit report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from bot.ecosystems.test_results import printed

_LONGEST = 200
_LINES = 14
"""Lines in which the reason of a failure is searched, from the one with a message on."""
_BLOCK = 60
"""Lines after the name of a test in which that one is."""
_MOST_TESTS, _MOST_PLACES, _MOST_PARTS = 100, 40, 12
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LOGGED = re.compile(r" +[\w./-]+\.go:\d+: ?(.*)")
_LOCATION = re.compile(r"(?:at |> |\d+ \||# \.|stack backtrace:|note: ).*")
_DETAIL = re.compile(r"(?:[-+] )?(?:[Ee]xpected|[Rr]eceived|[Aa]ctual|left|right|got) {0,40}:.*")
"""A line with an expected or a received value."""
_NO_REASON = frozenset({"", "failed", "failure", "error", "collection failure", "test failed"})

_SEPARATOR = re.compile(r" > |::|[ ./]")
_PANIC = "panicked at "
_MESSAGE = re.compile(
    r"[\w.]*(?:Error|Exception)\b(?! Trace:| in test|\(|: Failed to import)|panic: |(?:error|message): ['\"|>]"
    r"|[\w./-]+\.\w+:\d+(?::\d+)?: |assert|Failed asserting|[Ee]xpect"
)
_NEXT_TEST = re.compile(r"={5}|=== (?:RUN|CONT|NAME) |--- (?:PASS|FAIL|SKIP): ")


def of_output(output: Sequence[str], failed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield failed tests with their reasons. The reason stands behind the name of a test or below it, and the last part
    of the name is enough. Of several places, the last with a message counts."""
    lines = [line.removeprefix("E ").strip() for line in printed(output)]
    lines = [line.replace(" › ", " > ").replace("\\#", "#") for line in lines]
    text = "\n".join(lines)
    places = {name: _places(name, text, lines) for name in failed[:_MOST_TESTS]}
    owner = {place: name for name, own in places.items() for place, _ in own}
    for name, own in places.items():
        for place, rest in reversed(own):
            below = range(place + 1, min(place + _BLOCK, len(lines)))
            end = next(
                (at for at in below if owner.get(at, name) != name or _NEXT_TEST.match(lines[at])), below.stop
            )
            block = [rest, *lines[place + 1 : end]]
            if reason := one_line([rest[3:]]) if rest.startswith(" - ") else _message(block):
                yield name, reason
                break


def _places(name: str, text: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines with the longest end of the name that occurs, and what stands behind it."""
    ends = (name[match.end() :] for match in islice(_SEPARATOR.finditer(name), _MOST_PARTS))
    own = next((end for end in (name, *ends) if end and end in text), "")
    if not own:
        return []
    pattern = re.compile(rf"(?<![\w/]){re.escape(own)}(?![\w/])(.*)")
    found = ((number, line) for number, line in enumerate(lines) if own in line)
    return [(number, match[1]) for number, line in found if (match := pattern.search(line))][-_MOST_PLACES:]


def _message(block: Sequence[str]) -> str:
    """The reason by the first line with a message; empty if there is none."""
    for number, line in enumerate(block):
        if _PANIC in line and line.endswith(":"):
            return one_line(block[number + 1 :])
        if number and (_PANIC in line or _MESSAGE.match(line)):
            return one_line(block[number:])
    return ""


def one_line(lines: Sequence[str]) -> str:
    """The first line with a message, and the expected and received values if they follow."""
    plain = [_COLOUR.sub("", line[: 4 * _LONGEST]).strip() for line in lines[:_LINES]]
    filled = [line for line in plain if line]
    while len(filled) > 1 and _LOCATION.fullmatch(filled[0]):
        filled.pop(0)
    if not filled:
        return ""
    first = re.sub(r": [|>]-?$", ":", filled[0])
    if first.endswith(":") and len(filled) > 1 and not _DETAIL.fullmatch(filled[1]):
        filled[:2] = [f"{first} {filled[1]}"]
    details = []
    for line in filled[1:]:
        if _LOCATION.fullmatch(line):
            break
        if _DETAIL.fullmatch(line):
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

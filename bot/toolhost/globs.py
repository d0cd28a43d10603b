"""Match paths with the patterns that people and models write: `*`, `?` and `[...]` stay within one folder, `**` crosses
folders, braces stand for alternatives."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from bot.contracts.tools import ToolFailure

MAX_ALTERNATIVES = 64

_ESCAPED = re.compile(r"\\([*?\[])")
_GROUP = re.compile(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}")
_COMMA = re.compile(r"(?<!\\),")
_UNESCAPED = re.compile(r"\\(.)")

Matcher = Callable[[str], bool]


def matcher(pattern: str) -> Matcher:
    """Whether relative paths match. Without a slash the pattern is for the file's name, wherever it is; one that ends
    with a slash is for all below. Raises `ToolFailure` if its braces stand for
    more than `MAX_ALTERNATIVES`."""
    alternatives = [_one(plain) for plain in expand_braces(pattern)]
    return lambda path: any(matches(path) for matches in alternatives)


def _one(pattern: str) -> Matcher:
    anchored = pattern.startswith(("/", "./"))
    parts = pattern.removeprefix("./").lstrip("/").split("/")
    if len(parts) == 1 and not anchored:
        parts = ["**", *parts]
    if parts[-1] == "":
        parts[-1] = "**"
    steps = [None if part == "**" else _part(part) for part in parts]

    def matches(path: str) -> bool:
        names = path.split("/")
        ends = {0}  # how many names the steps so far may stand for
        for number, step in enumerate(steps, start=1):
            if step is None:  # at the end it stands for one name at least
                ends = set(range(min(ends, default=len(names)) + (number == len(steps)), len(names) + 1))
            else:
                ends = {end + 1 for end in ends if end < len(names) and step.match(names[end])}
        return len(names) in ends

    return matches


def _part(part: str) -> re.Pattern[str]:
    part = _ESCAPED.sub(r"[\1]", part.replace("[^", "[!"))
    return re.compile(fnmatch.translate(_UNESCAPED.sub(r"\1", part)))


def expand_braces(pattern: str) -> list[str]:
    """All patterns that the braces of one stand for, the inner ones first. A brace without a comma or a partner stands
    for itself."""
    expanded: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        if (group := _GROUP.search(one)) is None:
            expanded.append(one)
            continue
        parts = reversed(_COMMA.split(group[1]))
        waiting += [one[: group.start()] + part + one[group.end() :] for part in parts]
        if len(expanded) + len(waiting) > MAX_ALTERNATIVES:
            raise ToolFailure("The braces stand for too many patterns. Send fewer alternatives.")
    return list(dict.fromkeys(expanded))

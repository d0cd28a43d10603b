"""Match paths with the patterns that people and models write: `bot.contracts.globs`, and braces for alternatives."""

from __future__ import annotations

import re
from collections.abc import Callable

from bot.contracts.globs import matches
from bot.contracts.tools import ToolFailure

MAX_ALTERNATIVES = 64

_GROUP = re.compile(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}")
_COMMA = re.compile(r"(?<!\\),")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether relative paths match. Without a slash the pattern is for the file's name, wherever it is. Raises
    `ToolFailure` if its braces stand for more than `MAX_ALTERNATIVES`."""
    globs = [_from_the_root(one) for one in expand_braces(pattern)]
    return lambda path: any(matches(glob, path) for glob in globs)


def _from_the_root(pattern: str) -> str:
    rooted = pattern.removeprefix("./").lstrip("/")
    return rooted if "/" in rooted or pattern.startswith(("/", "./")) else f"**/{rooted}"


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

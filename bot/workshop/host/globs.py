"""Path patterns as git and every shell knows them, turned into regular expressions.

`*`, `?`, `[...]` stay within one folder, `**` crosses folders; the behaviour is that of git's wildmatch with
WM_PATHNAME, so that the same translation serves `.gitignore` files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_ALTERNATIVES = 256

_NEVER = "(?!)"
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t-\\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class TooManyAlternativesError(Exception):
    """The braces of a pattern stand for more than `MAX_ALTERNATIVES` patterns."""


def matcher(pattern: str) -> re.Pattern[str]:
    """A regular expression to `fullmatch` relative paths with. Without a slash the pattern is for the file's
    name, wherever it is; braces stand for alternatives. Raises `TooManyAlternativesError`."""
    alternatives = []
    for plain in expand_braces(pattern):
        anchored = plain.startswith(("/", "./"))
        plain = plain.removeprefix("./").lstrip("/")
        if plain.endswith("/"):
            plain += "**"
        alternatives.append(translate(plain if "/" in plain or anchored else f"**/{plain}"))
    return re.compile("|".join(alternatives), re.DOTALL)


def expand_braces(pattern: str) -> list[str]:
    """All patterns that the braces of one stand for. A brace without a comma or a partner stands for itself."""
    expanded: list[str] = []
    waiting = [("", pattern)]
    while waiting:
        done, rest = waiting.pop()
        group = _first_group(rest)
        if group is None:
            expanded.append(done + rest)
        else:
            start, end, parts = group
            waiting += [("", done + rest[:start] + part + rest[end:]) for part in reversed(parts)]
        if len(expanded) + len(waiting) > MAX_ALTERNATIVES:
            raise TooManyAlternativesError
    return expanded


def _first_group(pattern: str) -> tuple[int, int, list[str]] | None:
    """Start, end and alternatives of the first brace group that has a comma."""
    for start in (i for i, c in enumerate(pattern) if c == "{"):
        depth, parts, at = 0, [], start + 1
        for i in range(start, len(pattern)):
            if pattern[i - 1 : i] == "\\":
                continue
            if pattern[i] == "{":
                depth += 1
            elif pattern[i] == "," and depth == 1:
                parts.append(pattern[at:i])
                at = i + 1
            elif pattern[i] == "}":
                depth -= 1
                if depth == 0:
                    if parts and pattern[start - 1 : start] != "\\":
                        return start, i + 1, [*parts, pattern[at:i]]
                    break
    return None


def translate(pattern: str) -> str:
    """The regular expression for one wildmatch pattern against a whole path; it needs `re.DOTALL`."""
    return "".join(_pieces(pattern))


def _pieces(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            piece, at = _stars(pattern, at)
            yield piece
        elif char == "?":
            yield "[^/]"
            at += 1
        elif char == "[":
            found = _bracket(pattern, at + 1)
            if found is None:
                yield _NEVER
                return
            piece, at = found
            yield piece
        elif char == "\\":
            yield re.escape(pattern[at + 1]) if at + 1 < len(pattern) else _NEVER
            at += 2
        else:
            yield re.escape(char)
            at += 1


def _stars(pattern: str, at: int) -> tuple[str, int]:
    """Two or more stars cross folders, but only where they are a whole component."""
    end = at
    while pattern[end : end + 1] == "*":
        end += 1
    whole = (at == 0 or pattern[at - 1] == "/") and pattern[end : end + 1] in ("", "/")
    if end - at == 1 or not whole:
        return "[^/]*", end
    if pattern[end : end + 1] == "/":
        return "(?:.*/)?", end + 1
    return ".*", end


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The character class whose opening bracket ends before `at`, and what comes after it; `None` when it never
    ends or names an unknown class (git then matches nothing)."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    members: list[str] = []
    previous = ""
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        char = pattern[at : at + 1]
        if char == "-" and previous and pattern[at + 1 : at + 2] not in ("", "]"):
            at += 1 + (pattern[at + 1] == "\\")
            if previous <= pattern[at : at + 1]:
                members.append(f"{re.escape(previous)}-{re.escape(pattern[at])}")
            previous = ""
        elif char == "[" and pattern[at + 1 : at + 2] == ":" and (named := _named_class(pattern, at)):
            members.append(_CLASSES.get(named, ""))
            if named not in _CLASSES:
                return None
            previous = ""
            at += len(named) + 3
        else:
            at += char == "\\"
            previous = pattern[at : at + 1]
            members.append(re.escape(previous))
        if at >= len(pattern):
            return None
        at += 1
    if not any(members):
        return ("[^/]" if negated else _NEVER), at + 1
    return f"(?!/)[{'^' if negated else ''}{''.join(members)}]", at + 1


def _named_class(pattern: str, at: int) -> str | None:
    """The name in `[:name:]` at this place; `None` where it is an ordinary bracket and colon."""
    end = pattern.find("]", at + 2)
    if end < 0 or pattern[end - 1] != ":" or end - 1 < at + 2:
        return None
    return pattern[at + 2 : end - 1] or "?"

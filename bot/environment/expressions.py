"""Expressions of GitHub Actions, as far as they decide which steps of a workflow run on Linux.

What only a run knows (secrets, outputs of other jobs, the event) is `UNKNOWN`, and so is what depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*(?:\.[\w*-]+|\[[^\]]*\])*)"
    r"|(?P<mark>&&|\|\||==|!=|<=|>=|[!()<>,]))"
)
_IN_TEXT = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_LONGEST = 500
_DEEPEST = 20


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
_FIXED: Mapping[str, Any] = {
    "runner.os": "Linux", "runner.arch": "X64", "github.workspace": ".", "github.ref": "refs/heads/main",
    "github.event_name": "push", "github.ref_type": "branch", "true": True, "false": False, "null": None,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "startswith": lambda text, start: str(text).lower().startswith(str(start).lower()),
    "endswith": lambda text, end: str(text).lower().endswith(str(end).lower()),
    "contains": lambda whole, part: str(part).lower() in (
        [str(one).lower() for one in whole] if isinstance(whole, list) else str(whole).lower()
    ),
    "always": lambda: True, "success": lambda: True, "failure": lambda: False, "cancelled": lambda: False,
}  # fmt: skip


def evaluate(expression: str, values: Mapping[str, Any]) -> Any:
    """What `expression` comes to where `values` holds names such as `matrix.os`; `UNKNOWN` if that is not clear."""
    text = expression.strip()
    if (whole := _IN_TEXT.fullmatch(text)) is not None:
        text = whole[1]
    tokens = _tokens(text)
    if tokens is None:
        return UNKNOWN
    try:
        value, rest = _either(tokens, values, 0)
    except (IndexError, TypeError, ValueError):
        return UNKNOWN
    return UNKNOWN if rest else value


def substitute(text: str, values: Mapping[str, Any]) -> str:
    """`text` with each expression replaced that is known; the others stay as they are."""

    def known(match: re.Match[str]) -> str:
        value = evaluate(match[1], values)
        return match[0] if value is UNKNOWN or isinstance(value, dict | list) else written(value)

    return _IN_TEXT.sub(known, text)


def _tokens(text: str) -> list[tuple[str, str]] | None:
    found, place, text = [], 0, text.strip()
    if len(text) > _LONGEST:
        return None
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        found.append((str(match.lastgroup), match[str(match.lastgroup)]))
        place = match.end()
    return found


_Tokens = list[tuple[str, str]]


def _either(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    left, rest = _both(tokens, values, depth)
    while rest and rest[0][1] == "||":
        right, rest = _both(rest[1:], values, depth)
        left = (True if right is not UNKNOWN and right else UNKNOWN) if left is UNKNOWN else left or right
    return left, rest


def _both(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    left, rest = _compared(tokens, values, depth)
    while rest and rest[0][1] == "&&":
        right, rest = _compared(rest[1:], values, depth)
        unknown = left is UNKNOWN and (right is UNKNOWN or right)
        left = UNKNOWN if unknown else right if left is UNKNOWN else left and right
    return left, rest


def _compared(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    left, rest = _single(tokens, values, depth)
    if rest and rest[0] in (("mark", "=="), ("mark", "!=")):
        right, after = _single(rest[1:], values, depth)
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN, after
        equal = written(left).lower() == written(right).lower()
        return equal if rest[0][1] == "==" else not equal, after
    if rest and rest[0][1] in ("<", ">", "<=", ">="):
        return UNKNOWN, _single(rest[1:], values, depth)[1]
    return left, rest


def written(value: Any) -> str:
    """`value` as GitHub writes it into a text: nothing for null, `true` for a boolean."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _single(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    (kind, text), rest = tokens[0], tokens[1:]
    if text == "!":
        value, rest = _single(rest, values, depth + 1)
        return UNKNOWN if value is UNKNOWN else not value, rest
    if text == "(":
        value, rest = _either(rest, values, depth + 1)
        if rest[0][1] != ")":
            raise ValueError("no closing bracket")
        return value, rest[1:]
    if kind == "string":
        return text[1:-1].replace("''", "'"), rest
    if kind == "number":
        return text, rest
    if kind != "name":
        raise ValueError(text)
    return (
        _call(text, rest[1:], values, depth) if rest and rest[0][1] == "(" else (_value(text, values), rest)
    )


def _call(name: str, rest: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    arguments = []
    while rest[0][1] != ")":
        value, rest = _either(rest, values, depth + 1)
        arguments.append(value)
        if rest[0][1] == ",":
            rest = rest[1:]
    function = _FUNCTIONS.get(name.lower())
    if function is None or UNKNOWN in arguments:
        return UNKNOWN, rest[1:]
    return function(*arguments), rest[1:]


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name in values:
        return values[name]
    if name in _FIXED:
        return _FIXED[name]
    # A step guarded by a cache runs if there is none yet; a variable or matrix key that is not set is empty.
    if name.endswith("outputs.cache-hit") or name.startswith(("matrix.", "env.")):
        return ""
    return UNKNOWN

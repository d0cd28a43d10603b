"""Evaluate the expressions of GitHub Actions that decide which steps of a workflow run on Linux.

Secrets, outputs of other jobs and the event are `UNKNOWN`, and so is anything that depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*(?:\.[\w*-]+|\[[^\]]*\])*)"
    r"|(?P<mark>&&|\|\||==|!=|<=|>=|[!()<>,]))"
)
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_LONGEST = 500
_DEEPEST = 20
_LONGEST_VALUE = 10_000


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
_CONSTANTS: Mapping[str, Any] = {
    "runner.os": "Linux",
    "runner.arch": "X64",
    "github.workspace": ".",
    "github.ref": "refs/heads/main",
    "github.event_name": "push",
    "github.ref_type": "branch",
    "true": True,
    "false": False,
    "null": None,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "startswith": lambda text, start: str(text).lower().startswith(str(start).lower()),
    "endswith": lambda text, end: str(text).lower().endswith(str(end).lower()),
    "contains": lambda whole, part: (
        str(part).lower()
        in ([str(one).lower() for one in whole] if isinstance(whole, list) else str(whole).lower())
    ),
    "format": lambda text, *values: _format(text, values),
    "always": lambda: True,
    "success": lambda: True,
    "failure": lambda: False,
    "cancelled": lambda: False,
}


def evaluate(expression: str, values: Mapping[str, Any]) -> Any:
    """Return the value of `expression`, or `UNKNOWN`. `values` has names such as `matrix.os`."""
    text = expression.strip()
    if (whole := _EXPRESSION.fullmatch(text)) is not None:
        text = whole[1]
    tokens = _tokens(text)
    if tokens is None:
        return UNKNOWN
    try:
        value, rest = _parse_or(tokens, values, 0)
    except (IndexError, TypeError, ValueError):
        return UNKNOWN
    return UNKNOWN if rest else value


def substitute(text: str, values: Mapping[str, Any]) -> str:
    """Return `text` with each known expression replaced by its value."""

    def known(match: re.Match[str]) -> str:
        value = evaluate(match[1], values)
        return match[0] if value is UNKNOWN or isinstance(value, dict | list) else to_text(value)

    return _EXPRESSION.sub(known, text)


def _tokens(text: str) -> list[tuple[str, str]] | None:
    tokens, position, text = [], 0, text.strip()
    if len(text) > _LONGEST:
        return None
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        position = match.end()
    return tokens


_Tokens = list[tuple[str, str]]


def _parse_or(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    left, rest = _parse_and(tokens, values, depth)
    while rest and rest[0][1] == "||":
        right, rest = _parse_and(rest[1:], values, depth)
        left = (True if right is not UNKNOWN and right else UNKNOWN) if left is UNKNOWN else left or right
    return left, rest


def _parse_and(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    left, rest = _parse_comparison(tokens, values, depth)
    while rest and rest[0][1] == "&&":
        right, rest = _parse_comparison(rest[1:], values, depth)
        unknown = left is UNKNOWN and (right is UNKNOWN or right)
        left = UNKNOWN if unknown else right if left is UNKNOWN else left and right
    return left, rest


def _parse_comparison(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    left, rest = _parse_operand(tokens, values, depth)
    if rest and rest[0] in (("mark", "=="), ("mark", "!=")):
        right, after = _parse_operand(rest[1:], values, depth)
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN, after
        equal = to_text(left).lower() == to_text(right).lower()
        return equal if rest[0][1] == "==" else not equal, after
    if rest and rest[0][1] in ("<", ">", "<=", ">="):
        return UNKNOWN, _parse_operand(rest[1:], values, depth)[1]
    return left, rest


def to_text(value: Any) -> str:
    """Return `value` as GitHub writes it into text: empty for null, `true` for a boolean."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _format(text: str, values: Sequence[Any]) -> str:
    filled = re.sub(r"\{(\d+)\}", lambda match: to_text(values[int(match[1])]), text)
    if len(filled) > _LONGEST_VALUE:  # nested calls could grow it without bound
        raise ValueError("too long")
    return filled


def _parse_operand(tokens: _Tokens, values: Mapping[str, Any], depth: int) -> tuple[Any, _Tokens]:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    (kind, text), rest = tokens[0], tokens[1:]
    if text == "!":
        value, rest = _parse_operand(rest, values, depth + 1)
        return UNKNOWN if value is UNKNOWN else not value, rest
    if text == "(":
        value, rest = _parse_or(rest, values, depth + 1)
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
        value, rest = _parse_or(rest, values, depth + 1)
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
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    # Without a cache yet, a step guarded by one runs. An unset variable or matrix key is empty.
    if name.endswith("outputs.cache-hit") or name.startswith(("matrix.", "env.")):
        return ""
    return UNKNOWN

"""Evaluate the expressions of GitHub Actions that decide which steps of a workflow run on Linux, and the matrix of a
job.

They are written as Python expressions, which `ast` parses; nothing of them is run. Secrets, outputs of other jobs and
the event are `UNKNOWN`, and so is anything that depends on them.
"""

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bot.ecosystems.checker import Table

_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<call>[A-Za-z_]\w*)\s*\(|(?P<name>[A-Za-z_][\w-]*(?:\.[\w*-]+|\[[^\]]*\])*)"
    r"|(?P<other>-?\d+(?:\.\d+)?|&&|\|\||==|!=|<=|>=|[!()<>,]))\s*"
)
_IN_PYTHON = {"&&": " and ", "||": " or ", "!": "~"}  # `~` binds as tightly as `!`, unlike `not`
_ORDER = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_LONGEST = 600
_LONGEST_VALUE = 10_000
_NAME = "name"


UNKNOWN: Any = object()
_CONSTANTS: Table = {
    "runner.os": "Linux",
    "runner.arch": "X64",
    "github.workspace": ".",
    "runner.workspace": ".",  # beside the repository: what is built there can be within it
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
    "fromjson": lambda text: json.loads(str(text)),
    "format": lambda text, *values: _format(text, values),
    "always": lambda: True,
    "success": lambda: True,
    "failure": lambda: False,
    "cancelled": lambda: False,
}


def evaluate(expression: str, values: Table) -> Any:
    """Return the value of `expression`, or `UNKNOWN`. `values` has names such as `matrix.os`."""
    text = expression.strip()
    if (whole := _EXPRESSION.fullmatch(text)) is not None:
        text = whole[1].strip()
    try:
        return _value(ast.parse(_in_python(text), mode="eval").body, values)
    except (SyntaxError, TypeError, ValueError, IndexError, RecursionError, MemoryError):
        return UNKNOWN


def substitute(text: str, values: Table) -> str:
    """Return `text` with each known expression replaced by its value."""

    def known(match: re.Match[str]) -> str:
        value = evaluate(match[1], values)
        return match[0] if value is UNKNOWN or isinstance(value, dict | list) else to_text(value)

    return _EXPRESSION.sub(known, text)


def _in_python(text: str) -> str:
    """Return the expression in Python's syntax, each name as a call of `name`. Raises `ValueError`."""
    pieces, position = list[str](), 0
    while position < len(text) <= _LONGEST and (match := _TOKEN.match(text, position)):
        position = match.end()
        if match["string"]:
            pieces.append(repr(match["string"][1:-1].replace("''", "'")))
        elif match["call"]:
            pieces.append(f"{match['call'].lower()}(")
        elif match["name"]:
            pieces.append(f"{_NAME}({match['name']!r})")
        else:
            pieces.append(_IN_PYTHON.get(match["other"], match["other"]))
    if position < len(text):
        raise ValueError("not an expression, or too long")
    return "".join(pieces)


def _value(node: ast.expr, values: Table) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.UnaryOp(op=ast.Invert(), operand=inner):
            value = _value(inner, values)
            return UNKNOWN if value is UNKNOWN else not value
        case ast.BoolOp(op=joint, values=[first, *others]):
            value, is_or = _value(first, values), isinstance(joint, ast.Or)
            for other in others:
                right = _value(other, values)
                if value is UNKNOWN:
                    value = UNKNOWN if is_or or right else right
                elif bool(value) is not is_or:
                    value = right
            return value
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            pair = _value(left, values), _value(right, values)
            if UNKNOWN in pair:
                return UNKNOWN
            if type(sign) in _ORDER:
                return _ORDER[type(sign)](*(float(to_text(one) or 0) for one in pair))
            equal = to_text(pair[0]).lower() == to_text(pair[1]).lower()
            return equal is isinstance(sign, ast.Eq)
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str() as text)]) if name == _NAME:
            return _named(text, values)
        case ast.Call(func=ast.Name(id=name), args=nodes):
            arguments = [_value(one, values) for one in nodes]
            return UNKNOWN if name not in _FUNCTIONS or UNKNOWN in arguments else _FUNCTIONS[name](*arguments)
    return UNKNOWN


def to_text(value: Any) -> str:
    """Return `value` as GitHub writes it into text: empty for null, `true` for a boolean."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _format(text: str, values: Sequence[Any]) -> str:
    filled = re.sub(r"\{(\d+)\}", lambda match: to_text(values[int(match[1])]), text)
    if len(filled) > _LONGEST_VALUE:  # nested calls could grow it without bound
        raise ValueError("too long")
    return filled


def _named(name: str, values: Table) -> Any:
    if name in values:
        return values[name]
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name.startswith("matrix.") and "matrix" in values:
        return UNKNOWN  # the matrix itself
    # Without a cache yet, a step guarded by one runs. An unset variable or matrix key is empty.
    if name.endswith("outputs.cache-hit") or name.startswith(("matrix.", "env.")):
        return ""
    return UNKNOWN

"""Checks tool arguments against the part of JSON Schema that our tools use, and says every mismatch at once.

Knows `type`, `properties`, `required`, `enum`, `items`, `minimum`, `maximum`, `minLength`, `maxLength`,
`minItems`, `maxItems`. Unknown arguments are dropped and named; scalars and arrays that came as strings are
taken for what the schema wants, and named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.contracts.wording import count_of

_SHOWN = 60
_INTEGER = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,2})?")


@dataclass(slots=True)
class Checked:
    """`value` is what to use when there are no `problems`; `unknown` are the `repairs` that dropped something."""

    value: Any = None
    problems: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def check(value: Any, schema: Mapping[str, Any]) -> Checked:
    """`value` against `schema`; never raises for what a model sends."""
    checked = Checked()
    checked.value = _check(value, schema, "", checked)
    return checked


def _check(value: Any, schema: Mapping[str, Any], path: str, out: Checked) -> Any:
    types = _types(schema)
    if types and not any(_IS[name](value) for name in types):
        value, fits = _as_wanted(value, types, path, out)
        if not fits:
            out.problems.append(_mismatch(path, " or ".join(_WORDS[name] for name in types), value))
            return value
    if "enum" in schema and value not in schema["enum"]:
        out.problems.append(_mismatch(path, "one of " + ", ".join(map(_shown, schema["enum"])), value))
    elif isinstance(value, dict):
        return _check_object(value, schema, path, out)
    elif isinstance(value, list):
        return _check_array(value, schema, path, out)
    elif isinstance(value, float) and types and "number" not in types:
        value = int(value)
    _check_bounds(value, schema, path, out)
    return value


def _check_object(
    value: dict[str, Any], schema: Mapping[str, Any], path: str, out: Checked
) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    # Models send null for an optional argument that they leave out.
    given = {name: item for name, item in value.items() if item is not None or name in required}
    for name in required:
        if name not in given:
            wanted = " or ".join(_WORDS[kind] for kind in _types(properties.get(name, {}))) or "a value"
            out.problems.append(f"{_join(path, name)}: expected {wanted}, got nothing (it is required)")
    if not properties:
        return given
    unknown = [name for name in given if name not in properties]
    if unknown:
        names = ", ".join(_join(path, name[:_SHOWN]) for name in unknown[:5])
        out.unknown.append(f"ignored the unknown argument {names} (known: {', '.join(properties)})")
        out.repairs.append(out.unknown[-1])
    return {
        name: _check(item, properties[name], _join(path, name), out)
        for name, item in given.items()
        if name in properties
    }


def _check_array(value: list[Any], schema: Mapping[str, Any], path: str, out: Checked) -> list[Any]:
    _check_bounds(value, schema, path, out)
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return value
    return [_check(item, items, f"{path}[{place}]", out) for place, item in enumerate(value)]


def _check_bounds(value: Any, schema: Mapping[str, Any], path: str, out: Checked) -> None:
    if isinstance(value, str):
        _bound(len(value), schema, ("minLength", "maxLength"), "character", path, out)
    elif isinstance(value, list):
        _bound(len(value), schema, ("minItems", "maxItems"), "item", path, out)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _bound(value, schema, ("minimum", "maximum"), "", path, out)


def _bound(
    size: float, schema: Mapping[str, Any], keys: tuple[str, str], unit: str, path: str, out: Checked
) -> None:
    low, high = schema.get(keys[0]), schema.get(keys[1])
    if low is not None and size < low:
        out.problems.append(f"{path}: expected at least {_counted(low, unit)}, got {size}")
    if high is not None and size > high:
        out.problems.append(f"{path}: expected at most {_counted(high, unit)}, got {size}")


def _counted(limit: Any, unit: str) -> str:
    return count_of(limit, unit) if unit else str(limit)


def _as_wanted(value: Any, types: tuple[str, ...], path: str, out: Checked) -> tuple[Any, bool]:
    """A string that spells what the schema wants, taken as that."""
    if not isinstance(value, str):
        return value, False
    for name in types:
        read = _FROM_STRING[name](value) if name in _FROM_STRING else None
        if read is not None and _IS[name](read):
            out.repairs.append(f"took the string in {path or 'the arguments'} as {_WORDS[name]}")
            return read, True
    return value, False


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_IS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}

_FROM_STRING: Mapping[str, Callable[[str], Any]] = {
    "boolean": lambda text: {"true": True, "false": False}.get(text.strip().lower()),
    "integer": lambda text: int(text) if _INTEGER.fullmatch(text.strip()) else None,
    "number": lambda text: float(text) if _NUMBER.fullmatch(text.strip()) else None,
    "array": _json_of,
    "object": _json_of,
}

_WORDS: Mapping[str, str] = {
    "string": "a string",
    "boolean": "a boolean",
    "integer": "a whole number",
    "number": "a number",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kind = schema.get("type", ())
    return (kind,) if isinstance(kind, str) else tuple(kind)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _mismatch(path: str, wanted: str, value: Any) -> str:
    return f"{path or 'the arguments'}: expected {wanted}, got {_shown(value)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"

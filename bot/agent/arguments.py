"""Parse a call's raw JSON text into the tool's arguments, and validate it against the schema.

Parsing is strict; only a few common errors of models with an unambiguous meaning are repaired. Truncated
arguments stay an error. The schema check supports `type`, `properties`, `required`, `enum`,
`items`, `minimum`, `maximum`, `minLength`, `maxLength`, `minItems`, `maxItems`. It reports every mismatch at
once, removes unknown arguments, and converts scalars and arrays sent as strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from bot.contracts.formatting import count_of

_EXCERPT = 200
_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\r?\n(.*?)\r?\n?```\s*\Z", re.DOTALL)
# A whole string is stepped over, so that only commas outside strings are seen; the possessive `*+` keeps the
# search linear.
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|,(?=\s*+[}\]])', re.DOTALL)


class BadArgumentsError(Exception):
    """The arguments are invalid; the message is for the model."""


class Arguments(NamedTuple):
    """`values` fit the schema; `repairs` describes each repair."""

    values: Mapping[str, Any]
    repairs: tuple[str, ...] = ()


def parse_arguments(raw: str, schema: Mapping[str, Any]) -> Arguments:
    """Return the arguments in `raw`, valid for `schema`. Raises `BadArgumentsError`."""
    value, repairs = _load_object(raw)
    checked = check_schema(value, schema)
    if checked.problems:
        lines = "\n".join(f"- {problem}" for problem in (*checked.problems, *checked.unknown))
        empty = " (they were empty)" if not raw.strip() else ""
        raise BadArgumentsError(f"The arguments{empty} do not fit the tool:\n{lines}")
    return Arguments(checked.value, (*repairs, *checked.repairs))


def _load_object(raw: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    if not raw.strip():
        return {}, ()
    value, repairs = _load(raw)
    if isinstance(value, str):
        value, inner = _load(value)
        repairs = (*repairs, "the arguments were JSON inside a JSON string", *inner)
    if not isinstance(value, dict):
        raise BadArgumentsError(
            f"The arguments must be one JSON object, but they are {type_name(value)}: {raw[:_EXCERPT]}"
        )
    return value, repairs


def _load(raw: str) -> tuple[Any, tuple[str, ...]]:
    try:
        return _strict(raw), ()
    except json.JSONDecodeError as error:
        first_error = error
    except RecursionError as error:
        raise BadArgumentsError("The arguments are nested too deeply.") from error
    repaired = _repair(raw)
    if repaired is None:
        raise BadArgumentsError(_explain(raw, first_error)) from first_error
    return repaired


def _repair(raw: str) -> tuple[Any, tuple[str, ...]] | None:
    text, repairs = raw, []
    if fenced := _FENCE.match(text):
        text = fenced[1]
        repairs.append("removed the Markdown fence around them")
    without_commas = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
    for candidate, notes in ((text, []), (without_commas, ["removed a trailing comma"])):
        for strict, more in ((True, []), (False, ["took raw line breaks inside strings as \\n"])):
            try:
                return _strict(candidate, strict=strict), (*repairs, *notes, *more)
            except (json.JSONDecodeError, RecursionError):
                continue
    return None


def _strict(text: str, *, strict: bool = True) -> Any:
    def refuse(name: str) -> NoReturn:
        raise json.JSONDecodeError(f"{name} is not a JSON value", text, text.find(name))

    value = json.loads(text, parse_constant=refuse, strict=strict)
    # Half a surrogate pair, written as an escape, is no text: no file and no pipe takes it.
    return _without_lone_surrogates(value) if "\\ud" in text.lower() else value


def _without_lone_surrogates(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _explain(raw: str, error: json.JSONDecodeError) -> str:
    start = max(0, error.pos - _EXCERPT // 2)
    return (
        f"The arguments are not JSON: {error.msg} at line {error.lineno}, column {error.colno} "
        f"(character {error.pos} of {len(raw)}). Around there: {raw[start : start + _EXCERPT]!r}. "
        "Send the call again with one valid JSON object."
    )


def type_name(value: Any) -> str:
    """Return the JSON name of a value's type."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


_MAX_EXCERPT = 60
_INTEGER = re.compile(r"[+-]?\d{1,15}")
_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,2})?")


@dataclass(slots=True)
class CheckedValue:
    """`value` is valid if there are no `problems`; `unknown` are those `repairs` that removed an argument."""

    value: Any = None
    problems: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def check_schema(value: Any, schema: Mapping[str, Any]) -> CheckedValue:
    """Check `value` against `schema`; never raises for a model's input."""
    checked = CheckedValue()
    checked.value = _check(value, schema, "", checked)
    return checked


def _check(value: Any, schema: Mapping[str, Any], path: str, out: CheckedValue) -> Any:
    types = _types(schema)
    if types and not any(_IS[name](value) for name in types):
        value, fits = _coerced(value, types, path, out)
        if not fits:
            out.problems.append(_mismatch(path, " or ".join(_WORDS[name] for name in types), value))
            return value
    if "enum" in schema and value not in schema["enum"]:
        out.problems.append(_mismatch(path, "one of " + ", ".join(map(_excerpt, schema["enum"])), value))
    elif isinstance(value, dict):
        return _check_object(value, schema, path, out)
    elif isinstance(value, list):
        return _check_array(value, schema, path, out)
    elif isinstance(value, float) and types and "number" not in types:
        value = int(value)
    _check_bounds(value, schema, path, out)
    return value


def _check_object(
    value: dict[str, Any], schema: Mapping[str, Any], path: str, out: CheckedValue
) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    # Models send null for an optional argument that they leave out.
    present = {name: item for name, item in value.items() if item is not None or name in required}
    for name in required:
        if name not in present:
            expected = " or ".join(_WORDS[kind] for kind in _types(properties.get(name, {}))) or "a value"
            out.problems.append(f"{_join(path, name)}: expected {expected}, got nothing (it is required)")
    if not properties:
        return present
    unknown = [name for name in present if name not in properties]
    if unknown:
        names = ", ".join(_join(path, name[:_MAX_EXCERPT]) for name in unknown[:5])
        out.unknown.append(f"ignored the unknown argument {names} (known: {', '.join(properties)})")
        out.repairs.append(out.unknown[-1])
    return {
        name: _check(item, properties[name], _join(path, name), out)
        for name, item in present.items()
        if name in properties
    }


def _check_array(value: list[Any], schema: Mapping[str, Any], path: str, out: CheckedValue) -> list[Any]:
    _check_bounds(value, schema, path, out)
    items = schema.get("items")
    if not isinstance(items, Mapping):
        return value
    return [_check(item, items, f"{path}[{index}]", out) for index, item in enumerate(value)]


def _check_bounds(value: Any, schema: Mapping[str, Any], path: str, out: CheckedValue) -> None:
    if isinstance(value, str):
        _bound(len(value), schema, ("minLength", "maxLength"), path, out, unit="character")
    elif isinstance(value, list):
        _bound(len(value), schema, ("minItems", "maxItems"), path, out, unit="item")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _bound(value, schema, ("minimum", "maximum"), path, out)


def _bound(
    size: float,
    schema: Mapping[str, Any],
    keys: tuple[str, str],
    path: str,
    out: CheckedValue,
    *,
    unit: str = "",
) -> None:
    low, high = schema.get(keys[0]), schema.get(keys[1])
    if low is not None and size < low:
        out.problems.append(f"{path}: expected at least {_counted(low, unit)}, got {size}")
    if high is not None and size > high:
        out.problems.append(f"{path}: expected at most {_counted(high, unit)}, got {size}")


def _counted(limit: Any, unit: str) -> str:
    return count_of(limit, unit) if unit else str(limit)


def _coerced(value: Any, types: tuple[str, ...], path: str, out: CheckedValue) -> tuple[Any, bool]:
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


def _mismatch(path: str, expected: str, value: Any) -> str:
    return f"{path or 'the arguments'}: expected {expected}, got {_excerpt(value)}"


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "…"

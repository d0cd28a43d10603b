"""Parse a call's raw JSON text into the tool's arguments, and validate it against the schema.

Parsing is strict, but for raw line breaks inside strings and JSON inside a string. Truncated arguments stay an
error. The schema check supports `type`, `properties`, `required`, `enum`, `items`, `minimum`, `maximum`,
`minLength`, `maxLength`, `minItems`, `maxItems`. It reports every mismatch at once, removes unknown arguments, and
takes a string for the JSON in it where no string is expected.
"""

import json
import operator
from collections.abc import Mapping
from contextlib import suppress
from types import NoneType, UnionType
from typing import Any, NamedTuple, NoReturn

from bot.contracts.formatting import count_of
from bot.contracts.tool_schema import Schema

_EXCERPT = 200
_MAX_EXCERPT = 60
_IGNORED = "ignored the unknown argument"


class BadArgumentsError(Exception):
    """The arguments are invalid; the message is for the model."""


class Arguments(NamedTuple):
    """`values` fit the schema; `repairs` describes each repair."""

    values: Mapping[str, Any]
    repairs: tuple[str, ...]


def parse_arguments(raw: str, schema: Schema) -> Arguments:
    """Return the arguments in `raw`, valid for `schema`. Raises `BadArgumentsError`."""
    value, repairs = _load(raw) if raw.strip() else ({}, ())
    if isinstance(value, str):
        value, inner = _load(value)
        repairs = (*repairs, "the arguments were JSON inside a JSON string", *inner)
    if not isinstance(value, dict):
        kind = next(kind for kind in _KINDS.values() if kind.fits(value))
        raise BadArgumentsError(
            f"The arguments must be one JSON object, but they are {kind.words}: {raw[:_EXCERPT]}"
        )
    checker = _Checker()
    checked = checker.check(value, schema)
    if checker.problems:
        ignored = [repair for repair in checker.repairs if repair.startswith(_IGNORED)]
        lines = "\n".join(f"- {problem}" for problem in (*checker.problems, *ignored))
        empty = " (they were empty)" if not raw.strip() else ""
        raise BadArgumentsError(f"The arguments{empty} do not fit the tool:\n{lines}")
    return Arguments(checked, (*repairs, *checker.repairs))


def _load(raw: str) -> tuple[Any, tuple[str, ...]]:
    try:
        return _parse(raw), ()
    except json.JSONDecodeError:
        pass
    except RecursionError as error:
        raise BadArgumentsError("The arguments are nested too deeply.") from error
    try:
        return _parse(raw, strict=False), ("took raw line breaks inside strings as \\n",)
    except json.JSONDecodeError as error:
        start = max(0, error.pos - _EXCERPT // 2)
        raise BadArgumentsError(
            f"The arguments are not JSON: {error.msg} at line {error.lineno}, column {error.colno} "
            f"(character {error.pos} of {len(raw)}). Around there: {raw[start : start + _EXCERPT]!r}. "
            "Send the call again with one valid JSON object."
        ) from error


def _parse(text: str, *, strict: bool = True) -> Any:
    def refuse(name: str) -> NoReturn:
        raise json.JSONDecodeError(f"{name} is not a JSON value", text, text.find(name))

    value = json.loads(text, parse_constant=refuse, parse_float=_number, strict=strict)
    if "\\ud" not in text.lower():
        return value
    # Half a surrogate pair, written as an escape, is no text: no file and no pipe takes it.
    dumped = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return json.loads(dumped.decode("utf-16", "replace"))


def _number(text: str) -> float:
    """Return a whole number as an integer, as models write `3.0`."""
    value = float(text)
    return int(value) if value.is_integer() else value


class _Kind(NamedTuple):
    """A type of JSON Schema: its words for people, its Python type, the name of its bounds and what they count."""

    words: str
    python: type | UnionType
    bound: str = ""
    unit: str = ""

    def fits(self, value: Any) -> bool:
        return isinstance(value, self.python) and (self.python is bool or not isinstance(value, bool))


_KINDS: Mapping[str, _Kind] = {
    "string": _Kind("a string", str, "Length", "character"),
    "boolean": _Kind("a boolean", bool),
    "integer": _Kind("a whole number", int, "imum"),
    "number": _Kind("a number", int | float, "imum"),
    "array": _Kind("an array", list, "Items", "item"),
    "object": _Kind("an object", dict),
    "null": _Kind("null", NoneType),
}


class _Checker:
    """Checks a value against a schema and collects what is wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.repairs: list[str] = []

    def check(self, value: Any, schema: Schema, path: str = "") -> Any:
        """Return `value` as the schema has it, which is valid if there are no problems."""
        kind = _KINDS[schema["type"]]
        if not kind.fits(value):
            spelled = _json_in(value) if isinstance(value, str) else None
            if not kind.fits(spelled):
                self._mismatch(path, kind.words, _excerpt(value))
                return value
            self.repairs.append(f"took the string in {path} as {kind.words}")
            value = spelled
        if "enum" in schema and value not in schema["enum"]:
            self._mismatch(path, f"one of {', '.join(map(_excerpt, schema['enum']))}", _excerpt(value))
            return value
        size = len(value) if isinstance(value, str | list) else value
        for prefix, word, fails in (("min", "least", operator.lt), ("max", "most", operator.gt)):
            if (limit := schema.get(f"{prefix}{kind.bound}")) is not None and fails(size, limit):
                self._mismatch(path, f"at {word} {count_of(limit, kind.unit) if kind.unit else limit}", size)
        if isinstance(value, dict):
            return self._check_object(value, schema, path)
        if isinstance(value, list) and "items" in schema:
            return [self.check(item, schema["items"], f"{path}[{index}]") for index, item in enumerate(value)]
        return value

    def _check_object(self, value: dict[str, Any], schema: Schema, path: str) -> dict[str, Any]:
        properties: Schema = schema.get("properties", {})
        required = schema.get("required", ())
        prefix = f"{path}." if path else ""
        # Models send null for an optional argument that they leave out.
        present = {name: item for name, item in value.items() if item is not None or name in required}
        for name in required:
            if name not in present:
                expected = _KINDS[properties[name]["type"]].words
                self._mismatch(f"{prefix}{name}", expected, "nothing (it is required)")
        if not properties:
            return present
        if unknown := [f"{prefix}{name[:_MAX_EXCERPT]}" for name in present if name not in properties]:
            known = ", ".join(properties)
            self.repairs.append(f"{_IGNORED} {', '.join(unknown[:5])} (known: {known})")
        return {
            name: self.check(item, properties[name], f"{prefix}{name}")
            for name, item in present.items()
            if name in properties
        }

    def _mismatch(self, path: str, expected: str, actual: object) -> None:
        self.problems.append(f"{path}: expected {expected}, got {actual}")


def _json_in(text: str) -> Any:
    """Return the JSON value in `text`, `None` for none; models capitalise booleans as Python does."""
    with suppress(ValueError, RecursionError):
        return _parse(text.lower() if text.strip() in ("True", "False") else text)
    return None


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "…"

"""Parse a call's raw JSON text into the tool's arguments, and validate it against the schema.

Parsing is strict, but for raw line breaks inside strings and JSON inside a string. Truncated arguments stay an
error. The schema check supports `type`, `properties`, `required`, `enum`, `items`, `minimum`, `maximum`,
`minLength`, `maxLength`, `minItems`, `maxItems`. It reports every mismatch at once, removes unknown arguments, and
takes a string for the JSON in it where no string is expected.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from bot.contracts.formatting import count_of

_EXCERPT = 200


class BadArgumentsError(Exception):
    """The arguments are invalid; the message is for the model."""


class Arguments(NamedTuple):
    """`values` fit the schema; `repairs` describes each repair."""

    values: Mapping[str, Any]
    repairs: tuple[str, ...] = ()


def parse_arguments(raw: str, schema: Mapping[str, Any]) -> Arguments:
    """Return the arguments in `raw`, valid for `schema`. Raises `BadArgumentsError`."""
    value, repairs = _load_object(raw)
    checker = _Checker()
    checked = checker.check(value, schema)
    if checker.problems:
        lines = "\n".join(f"- {problem}" for problem in (*checker.problems, *checker.unknown))
        empty = " (they were empty)" if not raw.strip() else ""
        raise BadArgumentsError(f"The arguments{empty} do not fit the tool:\n{lines}")
    return Arguments(checked, (*repairs, *checker.repairs))


def _load_object(raw: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    if not raw.strip():
        return {}, ()
    value, repairs = _load(raw)
    if isinstance(value, str):
        value, inner = _load(value)
        repairs = (*repairs, "the arguments were JSON inside a JSON string", *inner)
    if not isinstance(value, dict):
        raise BadArgumentsError(
            f"The arguments must be one JSON object, but they are {_name_of(value)}: {raw[:_EXCERPT]}"
        )
    return value, repairs


def _load(raw: str) -> tuple[Any, tuple[str, ...]]:
    try:
        return _parse(raw), ()
    except json.JSONDecodeError as error:
        first_error = error
    except RecursionError as error:
        raise BadArgumentsError("The arguments are nested too deeply.") from error
    try:
        return _parse(raw, strict=False), ("took raw line breaks inside strings as \\n",)
    except (json.JSONDecodeError, RecursionError):
        raise BadArgumentsError(_explain(raw, first_error)) from first_error


def _parse(text: str, *, strict: bool = True) -> Any:
    def refuse(name: str) -> NoReturn:
        raise json.JSONDecodeError(f"{name} is not a JSON value", text, text.find(name))

    value = json.loads(text, parse_constant=refuse, strict=strict)
    if "\\ud" not in text.lower():
        return value
    # Half a surrogate pair, written as an escape, is no text: no file and no pipe takes it.
    dumped = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return json.loads(dumped.decode("utf-16", "replace"))


def _explain(raw: str, error: json.JSONDecodeError) -> str:
    start = max(0, error.pos - _EXCERPT // 2)
    return (
        f"The arguments are not JSON: {error.msg} at line {error.lineno}, column {error.colno} "
        f"(character {error.pos} of {len(raw)}). Around there: {raw[start : start + _EXCERPT]!r}. "
        "Send the call again with one valid JSON object."
    )


_MAX_EXCERPT = 60


def _json_in(text: str) -> Any:
    """Return the JSON value in `text`, `None` for none; models capitalise booleans as Python does."""
    with suppress(ValueError, RecursionError):
        return _parse(text.lower() if text.strip() in ("True", "False") else text)
    return None


class _Kind(NamedTuple):
    """A type of JSON Schema: its words, and whether a value has it."""

    words: str
    fits: Callable[[Any], bool]


_KINDS: Mapping[str, _Kind] = {
    "string": _Kind("a string", lambda value: isinstance(value, str)),
    "boolean": _Kind("a boolean", lambda value: isinstance(value, bool)),
    "integer": _Kind("a whole number", lambda value: _is_number(value) and value == value // 1),
    "number": _Kind("a number", lambda value: _is_number(value)),
    "array": _Kind("an array", lambda value: isinstance(value, list)),
    "object": _Kind("an object", lambda value: isinstance(value, dict)),
    "null": _Kind("null", lambda value: value is None),
}
_BOUNDS = (
    (str, "minLength", "maxLength", "character"),
    (list, "minItems", "maxItems", "item"),
    (int | float, "minimum", "maximum", ""),
)


class _Checker:
    """Checks a value against a schema and collects what is wrong; `unknown` are those `repairs` that removed an
    argument."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.repairs: list[str] = []
        self.unknown: list[str] = []

    def check(self, value: Any, schema: Mapping[str, Any], path: str = "") -> Any:
        """Return `value` as the schema has it, which is valid if there are no problems."""
        kinds = _kinds(schema)
        if kinds and not any(kind.fits(value) for kind in kinds):
            spelled = _json_in(value) if isinstance(value, str) else None
            kind = next((kind for kind in kinds if spelled is not None and kind.fits(spelled)), None)
            if kind is None:
                self._mismatch(path, _words(kinds), value)
                return value
            self.repairs.append(f"took the string in {path or 'the arguments'} as {kind.words}")
            value = spelled
        if "enum" in schema and value not in schema["enum"]:
            self._mismatch(path, f"one of {', '.join(map(_excerpt, schema['enum']))}", value)
            return value
        if isinstance(value, float) and kinds and _KINDS["number"] not in kinds:
            value = int(value)
        self._check_bounds(value, schema, path)
        if isinstance(value, dict):
            return self._check_object(value, schema, path)
        if isinstance(value, list) and isinstance(items := schema.get("items"), Mapping):
            return [self.check(item, items, f"{path}[{index}]") for index, item in enumerate(value)]
        return value

    def _check_object(self, value: dict[str, Any], schema: Mapping[str, Any], path: str) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        # Models send null for an optional argument that they leave out.
        present = {name: item for name, item in value.items() if item is not None or name in required}
        for name in required:
            if name not in present:
                expected = _words(_kinds(properties.get(name, {}))) or "a value"
                self.problems.append(
                    f"{_join(path, name)}: expected {expected}, got nothing (it is required)"
                )
        if not properties:
            return present
        if unknown := [_join(path, name[:_MAX_EXCERPT]) for name in present if name not in properties]:
            known = ", ".join(properties)
            self.unknown.append(f"ignored the unknown argument {', '.join(unknown[:5])} (known: {known})")
            self.repairs.append(self.unknown[-1])
        return {
            name: self.check(item, properties[name], _join(path, name))
            for name, item in present.items()
            if name in properties
        }

    def _check_bounds(self, value: Any, schema: Mapping[str, Any], path: str) -> None:
        for kind, least, most, unit in _BOUNDS:
            if not isinstance(value, kind) or isinstance(value, bool):
                continue
            size = value if isinstance(value, int | float) else len(value)
            for bound, word, fails in ((least, "least", operator.lt), (most, "most", operator.gt)):
                if (limit := schema.get(bound)) is not None and fails(size, limit):
                    counted = count_of(limit, unit) if unit else limit
                    self.problems.append(f"{path}: expected at {word} {counted}, got {size}")

    def _mismatch(self, path: str, expected: str, value: Any) -> None:
        self.problems.append(f"{path or 'the arguments'}: expected {expected}, got {_excerpt(value)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name_of(value: Any) -> str:
    return next(kind.words for name, kind in _KINDS.items() if name != "integer" and kind.fits(value))


def _kinds(schema: Mapping[str, Any]) -> list[_Kind]:
    names = schema.get("type", ())
    return [_KINDS[name] for name in ([names] if isinstance(names, str) else names)]


def _words(kinds: Sequence[_Kind]) -> str:
    return " or ".join(kind.words for kind in kinds)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "…"

"""Types of the policy's keys: how pydantic reads a scalar of YAML, and what the JSON Schema tells editors.

A scalar comes as it is written. The type of its key decides whether it is text, a number or a truth value: `on: yes`
and `version: 3` are text where text is expected, and `yes`, `010`, `1e3` and a quoted number are not numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
from pydantic_core.core_schema import (
    CoreSchema,
    bool_schema,
    float_schema,
    int_schema,
    no_info_before_validator_function,
    no_info_plain_validator_function,
    no_info_wrap_validator_function,
)

from bot.policy import globs
from bot.policy.problems import Location

JsonSchema = dict[str, Any]

_WHOLE = re.compile(r"0|[1-9][0-9]{0,15}")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?")
_DURATION = re.compile(r"([1-9][0-9]{0,5})(s|m|h)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "h": 3600}
_TRUTH = {"true": True, "false": False}
# A YAML parser makes numbers and booleans of unquoted text, so an editor sees those.
_SCALAR: JsonSchema = {"type": ["string", "number", "boolean"]}
_GLOB = r"^[^/\\\u0000-\u001f\u007f-\u009f][^\\\u0000-\u001f\u007f-\u009f]*$"
_LINE = r"^ *[^ \u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"


class Scalar(str):
    """A scalar as it is written. `is_plain`: without quotes."""

    __slots__ = ("is_plain",)
    is_plain: bool


class Null:
    """YAML's null. No key takes it: `None` in a key's type is its default, which no file can spell."""


NULL = Null()


def problem(message: str) -> PydanticCustomError:
    """Return an error of a validator that is reported as it is."""
    return PydanticCustomError("problem", "{message}", {"message": message})


def unexpected() -> PydanticCustomError:
    """Return an error that is reported with what the JSON Schema expects."""
    return PydanticCustomError("unexpected", "unexpected")


def raise_problems(problems: Iterable[tuple[Location, str]]) -> None:
    """Raise the problems of a validator's value, if any, each at a location within the value."""
    lines: list[InitErrorDetails] = [
        {"type": problem(message), "loc": where, "input": None} for where, message in problems
    ]
    if lines:
        raise ValidationError.from_exception_data("policy", lines)


def about(text: str, **more: Any) -> Any:
    """Return the annotation of a key with its help text, for editors and docs."""
    return Field(description=text, **more)


def key(default: object, text: str, factory: Callable[[], object] | None = None, **more: Any) -> Any:
    """Return the dataclass field of a key with its default, or the `factory` of it, and its help text. pydantic reads
    the field's metadata as it reads `Field`."""
    if factory is not None:
        return field(default_factory=factory, metadata={"description": text, **more})
    return field(default=default, metadata={"description": text, **more})


@dataclass(frozen=True, slots=True)
class Kind:
    """An annotation: `core` returns the validator around the type's own, `described` the JSON Schema made from it."""

    core: Callable[[Callable[[], CoreSchema]], CoreSchema]
    described: Callable[[JsonSchema], JsonSchema] = dict

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return self.core(lambda: handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return self.described(handler(schema))


def _number(value: object) -> object:
    if not isinstance(value, Scalar) or not value.is_plain:
        return value
    return int(value) if _WHOLE.fullmatch(value) else float(value) if _DECIMAL.fullmatch(value) else value


def _parsed(parse: Callable[[object], object], schema: CoreSchema) -> Kind:
    """Return the kind of what `schema` takes once `parse` has read a scalar."""
    return Kind(lambda _: no_info_before_validator_function(parse, schema))


def whole(least: int, most: int) -> Kind:
    """Return the kind of a whole number."""
    return _parsed(_number, int_schema(ge=least, le=most, strict=True))


def decimal(most: int) -> Kind:
    """Return the kind of a number from 0 on."""
    return _parsed(_number, float_schema(ge=0, le=most, strict=True))


def truth(value: object) -> object:
    """Return `true` and `false` as what they are, and anything else unchanged."""
    return _TRUTH.get(value, value) if isinstance(value, Scalar) and value.is_plain else value


TRUTH = _parsed(truth, bool_schema(strict=True))
Truth = Annotated[bool, TRUTH]


def _read(read: Callable[[object], object], schema: JsonSchema) -> Kind:
    return Kind(
        lambda _: no_info_plain_validator_function(read, json_schema_input_schema=int_schema()),
        lambda _: dict(schema),
    )


def seconds(most: int) -> Kind:
    """Return the kind of a time: a number of seconds, or with a unit as in `90s`, `5m`, `1h`, then also quoted."""

    def read(value: object) -> float:
        match = (
            _DURATION.fullmatch(value)
            if isinstance(value, Scalar) and (value.is_plain or value[-1:] in "smh")
            else None
        )
        duration = int(match[1]) * _SECONDS[match[2]] if match else 0
        if not 0 < duration <= most:
            raise unexpected()
        return float(duration)

    numbers = {"type": "integer", "minimum": 1, "maximum": most}
    units = {"type": "string", "pattern": "^[1-9][0-9]{0,5}[smh]?$"}
    return _read(
        read,
        {"title": f"a time of at most {most:,} seconds, as in 90, 90s, 5m or 1h", "anyOf": [numbers, units]},
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise unexpected()
    return str(value)


def _line(value: object) -> str:
    text = _text(value)
    if not text.strip():
        raise problem("this is empty")
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        raise problem("this has line ends or control characters")
    return text


def line(words: str, pattern: str = "", schema: str = "") -> Kind:
    """Return the kind of one line of text that `pattern` matches in full. `words` are what is expected. `schema` is the
    pattern for the schema, if Python and ECMAScript read it differently."""
    compiled = re.compile(pattern or ".*")

    def read(value: object) -> str:
        text = _line(value)
        if not compiled.fullmatch(text):
            raise unexpected()
        return text

    return _read(
        read, {**_SCALAR, "title": words, "pattern": f"^(?:{schema or pattern})$" if pattern else _LINE}
    )


def _glob(value: object) -> str:
    text = _line(value)
    if flaw := globs.flaw(text):
        raise problem(flaw)
    return text


def _script(value: object) -> str:
    text = _text(value)
    if not text.strip() or "\0" in text:
        raise problem("this is no command")
    return text


Text = Annotated[str, _read(_text, {**_SCALAR, "title": "text"})]
Line = Annotated[str, line("text")]
Glob = Annotated[str, _read(_glob, {**_SCALAR, "title": "a glob", "pattern": _GLOB})]
Script = Annotated[str, _read(_script, {**_SCALAR, "title": "a shell command", "pattern": r"\S"})]


def one_of(words: Iterable[str]) -> Kind:
    """Return the kind of text that is one of these words."""
    known = list(words)

    def check(value: object) -> object:
        if value not in known:
            raise unexpected()
        return value

    return Kind(
        lambda inner: no_info_before_validator_function(check, inner()),
        lambda _: {"type": "string", "enum": list(map(str, known))},
    )


def word(text: str, value: object) -> Kind:
    """Return the kind of a word that stands for `value`, beside what the type takes."""
    return Kind(
        lambda inner: no_info_wrap_validator_function(
            lambda given, read: value if given == text else read(given), inner()
        ),
        lambda described: {"anyOf": [{"const": text}, described]},
    )


def repeated(values: Iterable[Hashable]) -> list[tuple[int, Any]]:
    """Return the values that occurred before, each with its index."""
    first: dict[Hashable, int] = {}
    return [
        (number, value) for number, value in enumerate(values) if first.setdefault(value, number) != number
    ]


def _once(values: Any, read: Callable[[Any], object]) -> object:
    checked = read(values)
    raise_problems(((n,), f"`{str(value)[:60]}` is listed twice") for n, value in repeated(values))
    return checked


ONCE = Kind(
    lambda inner: no_info_wrap_validator_function(_once, inner()),
    lambda described: {**described, "uniqueItems": True},
)
"""The kind of a list in which no item is listed twice."""

ONE_OR_MORE = Kind(
    lambda inner: no_info_before_validator_function(
        lambda value: [value] if isinstance(value, Scalar | Null) else value, inner()
    ),
    lambda described: {"anyOf": [described["items"], described]},
)
"""The kind of a list for which a single scalar may stand."""

FROZEN = AfterValidator(lambda values: MappingProxyType(dict(values)))
"""The annotation of a mapping that cannot be changed afterwards."""


@dataclass(frozen=True, slots=True)
class Short:
    """An annotation for a mapping: a scalar stands for one with the key `key` alone, and `fill` adds missing keys."""

    key: str
    fill: Callable[[str], Mapping[str, str]] = lambda _: {}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(self._whole, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        inner = handler(schema)
        named = handler.resolve_ref_schema(inner)
        named["required"] = [name for name in named["required"] if name not in self.fill("")]
        alone = {
            name: value for name, value in named["properties"][self.key].items() if name != "description"
        }
        return {"anyOf": [alone, inner]}

    def _whole(self, value: object) -> object:
        whole = {self.key: value} if isinstance(value, Scalar | Null) else value
        if not isinstance(whole, dict):
            return value
        text = whole.get(self.key)
        return {**self.fill(text if isinstance(text, str) else ""), **whole}

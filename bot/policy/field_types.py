"""Types of the policy's keys: how pydantic reads a scalar of YAML, and what the JSON Schema tells editors.

A scalar comes as text, as it is written; pydantic makes of it what the type of its key is, so `on: yes` and
`version: 3` are text where text is expected. YAML's null comes as an empty text, which no number or truth value is.
"""

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, GetPydanticSchema
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
from pydantic_core.core_schema import (
    no_info_after_validator_function,
    no_info_before_validator_function,
    no_info_wrap_validator_function,
    str_schema,
)

from bot.contracts import globs
from bot.contracts.nearest import nearest
from bot.parsing.yaml_document import Location

JsonSchema = dict[str, Any]

_DURATION = re.compile(r"([1-9][0-9]{0,5})(s|m|h)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "h": 3600}
# A YAML parser makes numbers and booleans of unquoted text, so an editor sees those.
_SCALAR: JsonSchema = {"type": ["string", "number", "boolean"]}
_GLOB = r"^[^/\\\u0000-\u001f\u007f-\u009f][^\\\u0000-\u001f\u007f-\u009f]*$"
_LINE = r"^ *[^ \u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"


def problem(message: str) -> PydanticCustomError:
    """Return an error of a validator that is reported as it is."""
    return PydanticCustomError("problem", "{message}", {"message": message})


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


def whole(least: int, most: int) -> Any:
    """Return the annotation of a whole number."""
    return Field(ge=least, le=most, title=f"a whole number from {least:,} to {most:,}")


def decimal(most: int) -> Any:
    """Return the annotation of a number from 0 on."""
    return Field(ge=0, le=most, allow_inf_nan=False, title=f"a number from 0 to {most:,}")


def _read(read: Callable[[str], object], schema: JsonSchema) -> GetPydanticSchema:
    """Return the kind of what `read` makes of a text."""
    return GetPydanticSchema(
        lambda *_: no_info_after_validator_function(read, str_schema()), lambda *_: dict(schema)
    )


def seconds(most: int) -> GetPydanticSchema:
    """Return the kind of a time: a number of seconds, or with a unit as in `90s`, `5m`, `1h`."""

    words = f"a time of at most {most:,} seconds, as in 90, 90s, 5m or 1h"

    def read(text: str) -> float:
        match = _DURATION.fullmatch(text)
        duration = int(match[1]) * _SECONDS[match[2]] if match else 0
        if not 0 < duration <= most:
            raise ValueError(words)
        return float(duration)

    numbers = {"type": "integer", "minimum": 1, "maximum": most}
    units = {"type": "string", "pattern": "^[1-9][0-9]{0,5}[smh]?$"}
    return _read(read, {"title": words, "anyOf": [numbers, units]})


def _line(text: str) -> str:
    if not text.strip():
        raise problem("this is empty")
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        raise problem("this has line ends or control characters")
    return text


def line(words: str, pattern: str = "", schema: str = "") -> GetPydanticSchema:
    """Return the kind of one line of text that `pattern` matches in full. `words` are what is expected. `schema` is the
    pattern for the schema, if Python and ECMAScript read it differently."""
    compiled = re.compile(pattern or ".*")

    def read(text: str) -> str:
        if not compiled.fullmatch(_line(text)):
            raise ValueError(words)
        return text

    return _read(
        read, {**_SCALAR, "title": words, "pattern": f"^(?:{schema or pattern})$" if pattern else _LINE}
    )


def _glob(text: str) -> str:
    if flaw := globs.flaw(_line(text)):
        raise problem(flaw)
    return text


def _script(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise problem("this is no command")
    return text


Text = Annotated[str, _read(str, {**_SCALAR, "title": "text"})]
Line = Annotated[str, line("text")]
Glob = Annotated[str, _read(_glob, {**_SCALAR, "title": "a glob", "pattern": _GLOB})]
Script = Annotated[str, _read(_script, {**_SCALAR, "title": "a shell command", "pattern": r"\S"})]


def one_of(words: Iterable[str]) -> GetPydanticSchema:
    """Return the kind of text that is one of these words."""
    known = list(map(str, words))

    def check(value: object) -> object:
        if value in known:
            return value
        if not value or not isinstance(value, str):
            raise ValueError(f"one of {', '.join(known)}")
        near = nearest(value, known)
        then = f"; the nearest is `{near}`" if near else ""
        raise problem(f"`{value[:40]}` is not one of {', '.join(known)}{then}")

    return GetPydanticSchema(
        lambda source, inner: no_info_before_validator_function(check, inner(source)),
        lambda *_: {"type": "string", "enum": known},
    )


def word(text: str, value: object) -> GetPydanticSchema:
    """Return the kind of a word that stands for `value`, beside what the type takes."""

    def validate(given: Any, read: Callable[[Any], Any]) -> Any:
        if given == text:
            return value
        try:
            return read(given)
        except ValidationError as error:
            if not isinstance(given, str):
                raise
            message = error.errors()[0]["msg"].removeprefix("Input should be ").partition(", unable")[0]
            other = "a list" if message in ("a valid tuple", "a valid frozenset") else message
            raise PydanticCustomError("word", "not the word", {"error": f"`{text}` or {other}"}) from None

    return GetPydanticSchema(
        lambda source, inner: no_info_wrap_validator_function(validate, inner(source)),
        lambda schema, described: {"anyOf": [{"const": text}, described(schema)]},
    )


def repeated(values: Iterable[Hashable]) -> list[tuple[int, Any]]:
    """Return the values that occurred before, each with its index."""
    first: dict[Hashable, int] = {}
    return [
        (number, value) for number, value in enumerate(values) if first.setdefault(value, number) != number
    ]


ONCE = AfterValidator(lambda values: tuple(dict.fromkeys(values)))
"""The annotation of a list in which an item counts once."""

ONE_OR_MORE = GetPydanticSchema(
    lambda source, inner: no_info_before_validator_function(
        lambda value: [value] if isinstance(value, str) else value, inner(source)
    ),
    lambda schema, described: {"anyOf": [described(schema)["items"], described(schema)]},
)
"""The kind of a list for which a single scalar may stand."""

FROZEN = AfterValidator(lambda values: MappingProxyType(dict(values)))
"""The annotation of a mapping that cannot be changed afterwards."""


def short(name: str, written: Any) -> BeforeValidator:
    """Return the annotation of a mapping for which the value of the key `name` may stand. `written` is the type of
    either."""
    return BeforeValidator(
        lambda value: {name: value} if isinstance(value, str) else value, json_schema_input_type=written
    )

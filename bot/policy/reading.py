"""Validate a YAML document by pydantic: plain values in, and every problem out, each with its line and column.

The words of a message come from the JSON Schema of the place, the same that editors use.
"""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from bot.contracts.nearest import nearest
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import KEY, Location, Problem, YamlError, read_yaml
from bot.policy.field_types import JsonSchema
from bot.policy.json_schema import alternatives, json_schema, resolved, words_of
from bot.policy.problems import PolicyError, Reading

Model = TypeVar("Model")
_DEFINITION = "#/$defs/"
_MOST = 100
"""Problems that are worded; a file with more is no policy, and each takes a search for the nearest word."""
_NAMED = 8
_NAMES = "names"
_TAG = "the tag "


def read_document(
    adapter: TypeAdapter[Model], text: str, source: str, parser: Parser | None, given: Mapping[str, object]
) -> Model:
    """Return the model of the document in `text`, with the fields `given`, which no document has. An empty document has
    the defaults. Raises `PolicyError` with all problems."""
    try:
        document = read_yaml(text, parser)
    except YamlError as error:
        raise PolicyError(source, [error.problem]) from error
    value = document.value
    if value is None:
        return adapter.validate_python(dict(given))
    reading = Reading(document, source)
    problems = [
        *document.problems,
        *(
            Problem(one.line, one.column, f"{one.found} means nothing here; leave it out")
            for one in document.places.values()
            if one.found.startswith(_TAG)
        ),
    ]
    if isinstance(value, dict):
        problems += [
            reading.problem((name, KEY), _unknown_key((name,), json_schema(adapter)))
            for name in given
            if name in value
        ]
        value |= given
    try:
        model = adapter.validate_python(value, extra="forbid", context=reading)
    except ValidationError as error:
        schema = json_schema(adapter)
        described = (_problem(one, reading, schema) for one in error.errors(include_url=False)[:_MOST])
        problems += filter(None, described)
    if problems:
        raise PolicyError(source, problems)
    return model


def _problem(error: ErrorDetails, reading: Reading, schema: JsonSchema) -> Problem | None:
    where = tuple(step for step in error["loc"] if not _is_definition(step, schema))
    if error["type"] == "unexpected_keyword_argument":
        return reading.problem((*where, KEY), _unknown_key(error["loc"], schema))
    message = _message(error, reading.document.place(where).found, schema)
    return reading.problem(where, message) if message else None


def _unknown_key(where: Location, schema: JsonSchema) -> str:
    name = str(where[-1])
    owners = [one for place in _at(where[:-1], schema) for one in alternatives(place, schema)]
    known = sorted({known for owner in owners for known in owner.get("properties", ())} - {name})
    if near := nearest(name, known):
        return f"unknown key `{name[:40]}`; the nearest known one is `{near}`"
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"unknown key `{name[:40]}`; known are {', '.join(f'`{one}`' for one in known[:_NAMED])}{more}"


def _message(error: ErrorDetails, found: str, schema: JsonSchema) -> str:
    where, kind = error["loc"], error["type"]
    if kind == "problem":
        return error["msg"]
    if found.startswith(_TAG):
        return ""  # reported already
    if kind == "too_short":
        # Of a list with items, each of which is reported already.
        return "" if error["input"] else "an empty list matches nothing"
    if kind == "too_long":
        return "at most {max_length} are listed, and not {actual_length}".format(**error["ctx"])
    places = _at(where, schema)
    words = ", or ".join(dict.fromkeys(words_of(place, schema) for place in places))
    if kind == "missing":
        return f"this has no `{where[-1]}`: {words}"
    known = [str(word) for place in places for word in resolved(place, schema).get("enum", ())]
    text = error["input"]
    if len(known) > 1 and isinstance(text, str) and found != "nothing":
        near = nearest(text, known)
        return f"`{text[:40]}` is not {words}" + (f"; the nearest is `{near}`" if near else "")
    return f"expected {words}, found {found}"


def _at(where: Location, schema: JsonSchema) -> list[JsonSchema]:
    """Return the schemas of the place `where`."""
    places = [schema]
    for step in where:
        if _is_definition(step, schema):
            places = [{"$ref": step}]
            continue
        inner = (_inside(one, step) for place in places for one in alternatives(place, schema))
        places = [resolved(one, schema) for one in inner if isinstance(one, dict)]
    return places


def _is_definition(step: str | int, schema: JsonSchema) -> bool:
    """Whether a step of pydantic's location is no key but one of several models."""
    return str(step).startswith(_DEFINITION) and str(step)[len(_DEFINITION) :] in schema["$defs"]


def _inside(place: JsonSchema, step: str | int) -> object:
    if isinstance(step, int):
        return place.get("items")
    if step == KEY:
        return place.get(_NAMES)
    named = place.get("additionalProperties")
    named = {**named, _NAMES: place.get("propertyNames")} if isinstance(named, dict) else None
    return place.get("properties", {}).get(step, named)

"""Validate a YAML document by pydantic: plain values in, and every problem out, each with its line and column.

pydantic, or the validator of a key, says what was expected; the document, what stands there.
"""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from bot.contracts.nearest import nearest
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import KEY, Document, Location, Problem, YamlError, read_yaml
from bot.policy.policy_error import PolicyError

Model = TypeVar("Model")
_MOST = 100
"""Problems that are worded; a file with more is no policy, and each takes a search for the nearest word."""
_EXPECTED = dict.fromkeys(
    ("dataclass_type", "dict_type", "mapping_type"), "a mapping of keys"
) | dict.fromkeys(("frozen_set_type", "list_type", "tuple_type"), "a list")
_TAG = "the tag "
VARIANT = "a rule with "
"""Begins a step of pydantic's locations that is no key but says which of several models was read."""


class Reading(NamedTuple):
    """A document that is being validated: the context of validators."""

    document: Document
    source: str

    def problem(self, where: Location, message: str) -> Problem:
        return Problem(*self.document.place(where)[:2], message)


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
        problems += [reading.problem((name, KEY), f"unknown key `{name}`") for name in given if name in value]
        value |= given
    try:
        model = adapter.validate_python(value, extra="forbid", context=reading)
    except ValidationError as error:
        keys = _known_keys(adapter)
        described = (_problem(one, reading, keys) for one in error.errors(include_url=False)[:_MOST])
        problems += filter(None, described)
    if problems:
        raise PolicyError(source, problems)
    return model


@cache
def _known_keys(adapter: TypeAdapter[Any]) -> frozenset[str]:
    """Cached: it takes 0.1 s."""
    schema = adapter.json_schema()
    return frozenset(key for one in (schema, *schema["$defs"].values()) for key in one.get("properties", ()))


def _problem(error: ErrorDetails, reading: Reading, keys: Collection[str]) -> Problem | None:
    where = tuple(step for step in error["loc"] if not str(step).startswith(VARIANT))
    kind, value = error["type"], reading.document.place(where).found
    if kind == "unexpected_keyword_argument":
        return reading.problem((*where, KEY), _unknown_key(str(where[-1]), keys))
    if kind == "problem":
        return reading.problem(where, error["msg"])
    if value.startswith(_TAG) or (kind == "too_short" and error["input"]):
        return None  # it is reported already, itself or each item of the list
    context = error.get("ctx", {})
    match kind:
        case "missing":
            message = f"this has no `{where[-1]}`"
        case "too_short":
            message = "an empty list matches nothing"
        case "too_long":
            message = "at most {max_length} are listed, and not {actual_length}".format(**context)
        case _:
            by_pydantic = error["msg"].removeprefix("Input should be ").partition(", unable")[0]
            expected = _EXPECTED.get(kind) or context.get("error") or by_pydantic
            message = f"this should be {expected}, found {value}"
    return reading.problem(where, message)


def _unknown_key(name: str, known: Collection[str]) -> str:
    near = nearest(name, {*known} - {name})
    then = f"; the nearest known one is `{near}`" if near else ": docs/policy.md lists the known ones"
    return f"unknown key `{name[:40]}`{then}"

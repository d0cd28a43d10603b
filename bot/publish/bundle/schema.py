"""Parse the JSON files of a bundle: the dataclasses are the schema, and unknown fields are refused. Also makes the JSON
Schema of `outcome.json` for docs/outcome.schema.json."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bot.contracts.errors import UsageError
from bot.contracts.outcome import SCHEMA_VERSION, Outcome
from bot.contracts.plan import Plan
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.publish.bundle.validate import outcome_error, review_error

if TYPE_CHECKING:
    from pydantic import TypeAdapter


import json

_Value = TypeVar("_Value")
_LARGEST = 1 << 53


def parse_outcome(raw: bytes) -> Outcome:
    """Raises `UsageError` with one sentence naming the first field that is wrong."""
    return _parse(raw, Outcome, "outcome.json is not a valid outcome", outcome_error, SCHEMA_VERSION)


def parse_review(raw: bytes) -> Review:
    """As `parse_outcome`."""
    return _parse(raw, Review, "review.json is not a valid review", review_error)


def parse_plan(raw: bytes, name: str = "plan.json") -> Plan:
    """As `parse_outcome`. `name` is what the bytes are called in the sentence."""
    return _parse(raw, Plan, f"{name} is not a valid plan", lambda plan: plan.problem)


def parse_writes(raw: bytes) -> Writes:
    """As `parse_outcome`."""
    return _parse(raw, Writes, "writes.json is not a valid list of writes", lambda writes: writes.problem)


def _parse(
    raw: bytes, kind: type[_Value], refused: str, wrong: Callable[[_Value], str], version: int = 0
) -> _Value:
    # Imported here: pydantic costs 100 ms, and the run's start-up path imports this room.
    from pydantic import ValidationError
    from pydantic_core import from_json

    try:
        data = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(refused, f"not JSON ({error})") from error
    if not isinstance(data, dict):
        raise _refusal(refused, "not a JSON object")
    if large := _large_number(data, ""):
        raise _refusal(refused, f"{large[:80]}: a number out of range")
    if version and data.get("schema") != version:
        why = f"schema {data.get('schema')!r:.40}, and this version reads {version} only"
        raise _refusal(refused, why)
    adapter = _adapter(cast("Hashable", kind))
    try:
        value: _Value = adapter.validate_json(raw, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _refusal(refused, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if unknown := _unknown_field(data, adapter.dump_python(value, mode="json"), ""):
        raise _refusal(refused, f"{unknown[:80]}: unknown field")
    if problem := wrong(value):
        raise _refusal(refused, problem)
    return value


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    """Made once: it takes 70 ms."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)  # type: ignore[arg-type]  # a type, which the cache takes for any key


def _refusal(refused: str, why: str) -> UsageError:
    printable = "".join(c if c.isprintable() else "?" for c in why)
    return UsageError(f"{refused}: {printable}.")


def _large_number(value: Any, where: str) -> str:
    """The path of the first number that no float holds exactly, or an empty string: nothing that we count comes near,
    and what divides or shows one with thousands of digits fails."""
    if isinstance(value, int | float):
        return "" if -_LARGEST <= value <= _LARGEST else where.lstrip(".")
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next(filter(None, (_large_number(one, f"{where}.{key}") for key, one in inner)), "")


def _unknown_field(raw: Any, known: Any, where: str) -> str:
    """The path of the first key of `raw` that validation passed over in silence, or an empty string.

    The dataclasses of `bot.contracts` know nothing of pydantic, so its own `extra="forbid"` cannot be set.
    """
    if isinstance(raw, Mapping) and isinstance(known, Mapping):
        for key, value in raw.items():
            path = f"{where}.{key}".lstrip(".")
            if key not in known:
                return path
            if path_inside := _unknown_field(value, known[key], path):
                return path_inside
    elif isinstance(raw, list) and isinstance(known, list):
        for index, (one, other) in enumerate(zip(raw, known, strict=True)):
            if path_inside := _unknown_field(one, other, f"{where}.{index}"):
                return path_inside
    return ""


URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/outcome.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def outcome_schema() -> dict[str, Any]:
    """Strict, as the reader is: a field that it does not name is refused."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Outcome).json_schema(mode="serialization")
    for described in (schema, *schema["$defs"].values()):
        _tidy(described)
    schema["properties"]["schema"] = {"const": SCHEMA_VERSION, "title": "Schema"}
    return {"$schema": _DIALECT, "$id": URL, **schema, "title": "outcome.json of Slash Agent"}


def as_text() -> str:
    return json.dumps(outcome_schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(described: dict[str, Any]) -> None:
    if described.get("type") == "object" and "properties" in described:
        described["additionalProperties"] = False
        for one in described["properties"].values():
            one.pop("title", None)  # the name in capitals
    if "description" in described:
        described["description"] = " ".join(described["description"].split())

"""The JSON files of a bundle back into their values: the dataclasses are the schema, and all else is refused."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bot.contracts.errors import UsageError
from bot.contracts.outcome import SCHEMA_VERSION, Outcome
from bot.contracts.plan import Plan
from bot.contracts.review import Review
from bot.contracts.writes import Writes
from bot.publish.bundle.values import wrong_in_outcome, wrong_in_review

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_Value = TypeVar("_Value")
_LARGEST = 1 << 53


def parse_outcome(raw: bytes) -> Outcome:
    """Raises `UsageError` with one sentence naming the first field that is wrong."""
    return _parse(raw, Outcome, "outcome.json is not a valid outcome", wrong_in_outcome, SCHEMA_VERSION)


def parse_review(raw: bytes) -> Review:
    """As `parse_outcome`."""
    return _parse(raw, Review, "review.json is not a valid review", wrong_in_review)


def parse_plan(raw: bytes, name: str = "plan.json") -> Plan:
    """As `parse_outcome`. `name` is what the bytes are called in the sentence."""
    return _parse(raw, Plan, f"{name} is not a valid plan", lambda plan: plan.trouble)


def parse_writes(raw: bytes) -> Writes:
    """As `parse_outcome`."""
    return _parse(raw, Writes, "writes.json is not a valid list of writes", lambda writes: writes.trouble)


def _parse(
    raw: bytes, kind: type[_Value], refused: str, wrong: Callable[[_Value], str], schema: int = 0
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
    if schema and data.get("schema") != schema:
        said = f"schema {data.get('schema')!r:.40}, and this version reads {schema} only"
        raise _refusal(refused, said)
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
    shown = "".join(c if c.isprintable() else "?" for c in why)
    return UsageError(f"{refused}: {shown}.")


def _large_number(value: Any, where: str) -> str:
    """The path of the first number that no float holds exactly, or an empty string: nothing that we count comes near,
    and what divides or shows one with thousands of digits fails."""
    if isinstance(value, int | float):
        return "" if -_LARGEST <= value <= _LARGEST else where.lstrip(".")
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next(filter(None, (_large_number(one, f"{where}.{key}") for key, one in inner)), "")


def _unknown_field(given: Any, known: Any, where: str) -> str:
    """The path of the first key of `given` that validation passed over in silence, or an empty string.

    The dataclasses of `bot.contracts` know nothing of pydantic, so its own `extra="forbid"` cannot be set.
    """
    if isinstance(given, Mapping) and isinstance(known, Mapping):
        for key, value in given.items():
            path = f"{where}.{key}".lstrip(".")
            if key not in known:
                return path
            if found := _unknown_field(value, known[key], path):
                return found
    elif isinstance(given, list) and isinstance(known, list):
        for index, (one, other) in enumerate(zip(given, known, strict=True)):
            if found := _unknown_field(one, other, f"{where}.{index}"):
                return found
    return ""

"""The table of all keys of the policy file, for docs/policy.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bot.policy.field_types import JsonSchema
from bot.policy.read_policy import schema
from bot.policy.tiers import default_tiers

SCHEMA = schema()

# The keys by the job that reads them. "event": the first step, before anything is installed; "run": the job with the
# model's key; "publishing": the job with the token, which does not trust the run; "maintenance": the schedule.
_READ_WHEN = {
    "all": "version",
    "event": "bots options replies thread_author triggers",
    "event, run": "budget",
    "event, run, publishing": "tiers review",
    "run": "on_deny checks setup bring run_services history model models model_settings agent attachments diagnostics"
    " dangerous sandbox",
    "run, publishing": "rules writes diff identity",
    "publishing": "pull_request push_to_head forks dispatch",
    "maintenance": "maintenance",
}
_READERS = {key: readers for readers, keys in _READ_WHEN.items() for key in keys.split()}


def as_table() -> str:
    """Every key as `docs/policy.md` lists it."""
    rows = ["| key | takes | default | read when |", "| --- | --- | --- | --- |"]
    for path, described in every_key():
        if "properties" in described and "title" not in described:
            continue
        default = _default_text(described["default"]) if "default" in described else ""
        if path.startswith("tiers.<name>."):
            default = _tier_default(path.rpartition(".")[2])
        top = path.partition(".")[0].partition("[")[0]
        rows.append(f"| `{path}` | {words_of(described, SCHEMA)} | {default} | {_READERS[top]} |")
    return "\n".join(rows) + "\n"


def every_key() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each key with its schema, as `review.drafts` and `setup[].timeout`; the keys of a tier once."""
    seen = set()
    for path, described in _keys("", SCHEMA):
        if path not in seen:
            yield path, described
        seen.add(path)


def _keys(before: str, of: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    properties: dict[str, Any] = of.get("properties", {})
    for name, place in properties.items():
        described = resolved(place, SCHEMA)
        yield before + name, described
        yield from _nested_keys(before + name, described)


def _nested_keys(path: str, described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in alternatives(described, SCHEMA):
        yield from _keys(f"{path}.", one)
        for item in alternatives(one.get("items", {}), SCHEMA):
            yield from _keys(f"{path}[].", item)
        if isinstance(named := one.get("additionalProperties"), dict):
            yield from _keys(f"{path}.<name>.", resolved(named, SCHEMA))


def _tier_default(key: str) -> str:
    values = [getattr(limits, key) for limits in default_tiers().values()]
    if any(value != values[0] for value in values):
        return "by tier"
    return "" if values[0] is None else _default_text(list(values[0]))


def _default_text(default: object) -> str:
    if isinstance(default, list):
        return ", ".join(map(str, default)) or "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, int | float) else str(default)


def resolved(place: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """Return `place` with the definition that it refers to."""
    if "$ref" not in place:
        return place
    return {**schema["$defs"][place["$ref"].rpartition("/")[2]], **place}


def alternatives(place: JsonSchema, schema: JsonSchema) -> list[JsonSchema]:
    """Return the schemas of which a value at `place` fits one."""
    place = resolved(place, schema)
    inner = place.get("anyOf") or place.get("oneOf") or ()
    return [one for each in inner for one in alternatives(each, schema)] or [place]


def words_of(place: JsonSchema, schema: JsonSchema) -> str:
    """Return what `place` of `schema` takes, as a noun with its article."""
    place = resolved(place, schema)
    if "title" in place:
        return str(place["title"])
    if "anyOf" in place:
        return ", or ".join(dict.fromkeys(words_of(one, schema) for one in place["anyOf"]))
    if "enum" in place:
        return f"one of {', '.join(map(str, place['enum']))}"
    if "const" in place:
        return json.dumps(place["const"]).strip('"')
    match place.get("type"):
        case "integer":
            return f"a whole number from {place['minimum']:,} to {place['maximum']:,}"
        case "number":
            return f"a number from {place['minimum']:,g} to {place['maximum']:,g}"
        case "boolean":
            return "true or false"
        case "array":
            return f"a list, each {words_of(place['items'], schema)}"
        case _:
            return "a mapping of keys"

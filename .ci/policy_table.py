"""The table of all keys of the policy file, for docs/policy.md."""

from collections.abc import Iterator
from typing import Any

from bot.policy.schema import schema
from bot.policy.tiers_and_budget import default_tiers

SCHEMA = schema()

# The keys by the job that reads them. "event": the first step, before anything is installed; "run": the job with the
# model's key; "publishing": the job with the token, which does not trust the run; "maintenance": the schedule.
_READ_WHEN = {
    "all": "version",
    "event": "bots options replies thread_author triggers",
    "event, run": "budget follow_up",
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
    for path, described in every_key().items():
        if "properties" in described and "title" not in described:
            continue
        default = described.get("default", "")
        if path.startswith("tiers.<name>."):
            values = [getattr(limits, path.rpartition(".")[2]) for limits in default_tiers().values()]
            default = "by tier" if any(value != values[0] for value in values) else values[0]
        top = path.partition(".")[0].partition("[")[0]
        rows.append(f"| `{path}` | {_words(described)} | {_text(default)} | {_READERS[top]} |")
    return "\n".join(rows) + "\n"


def every_key() -> dict[str, dict[str, Any]]:
    """Each key with its schema, as `review.drafts` and `setup[].timeout`."""
    keys: dict[str, dict[str, Any]] = {}
    for path, described in _keys("", SCHEMA):
        keys.setdefault(path, described)
    return keys


def _keys(path: str, place: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, inner in place.get("properties", {}).items():
        own = f"{path}.{name}".removeprefix(".")
        yield own, _resolved(inner)
        yield from _keys(own, _resolved(inner))
    for one in place.get("anyOf") or place.get("oneOf") or ():
        yield from _keys(path, _resolved(one))
    yield from _keys(f"{path}[]", _resolved(place["items"])) if "items" in place else ()
    if named := place.get("additionalProperties"):
        yield from _keys(f"{path}.<name>", _resolved(named))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _resolved(place: dict[str, Any]) -> dict[str, Any]:
    return {**SCHEMA["$defs"][place["$ref"].rpartition("/")[2]], **place} if "$ref" in place else place


def _words(place: dict[str, Any]) -> str:
    """What `place` takes, as a noun with its article."""
    place = _resolved(place)
    if "title" in place or "items" in place:
        return str(place.get("title") or f"a list, each {_words(place['items'])}")
    if "anyOf" in place:
        return ", or ".join(dict.fromkeys(map(_words, place["anyOf"])))
    return (
        f"one of {', '.join(map(str, place['enum']))}"
        if "enum" in place
        else _text(place.get("const", "true or false"))
    )

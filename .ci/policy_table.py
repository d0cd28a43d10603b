"""The table of all keys of the policy file, for docs/policy.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.policy.keys import schema

# Who reads a key, and when. "asking": before anything is installed; "run": the job that holds the model's key;
# "publishing": the job that holds the token, which trusts nothing of the run; "maintenance": what is due on a schedule.
_READERS = {
    "version": "all",
    "tiers": "asking, run, publishing",
    "bots": "asking",
    "budget": "asking, run",
    "options": "asking",
    "rules": "run, publishing",
    "on_deny": "run",
    "checks": "run",
    "setup": "run",
    "bring": "run",
    "history": "run",
    "model": "run",
    "models": "run",
    "model_settings": "run",
    "agent": "run",
    "attachments": "run",
    "diagnostics": "run",
    "pull_request": "publishing",
    "push_to_head": "publishing",
    "forks": "publishing",
    "dispatch": "publishing",
    "review": "asking, run, publishing",
    "thread_author": "asking",
    "triggers": "asking",
    "maintenance": "maintenance",
    "writes": "run, publishing",
    "diff": "run, publishing",
    "dangerous": "run",
    "sandbox": "run",
    "detector": "run, publishing",
    "identity": "run, publishing",
}


def as_table() -> str:
    """Every key as `docs/policy.md` lists it."""
    rows = ["| key | takes | default | read when |", "| --- | --- | --- | --- |"]
    for path, described in every_key():
        default = _default_text(described["default"]) if "default" in described else ""
        top = path.partition(".")[0].partition("[")[0]
        rows.append(f"| `{path}` | {described['title']} | {default} | {_READERS[top]} |")
    return "\n".join(rows) + "\n"


def every_key() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each key with its schema, as `review.drafts` and `setup[].timeout`; the keys of a tier once."""
    for path, described in _keys("", schema()):
        if "title" in described:
            yield path, described


def _keys(before: str, of: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    properties: dict[str, Any] = of.get("properties", {})
    if before == "tiers.":
        properties = {"<tier>": _any_of(properties)}
    for name, described in properties.items():
        yield before + name, described
        yield from _nested_keys(before + name, described)


def _nested_keys(path: str, described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in (described, *described.get("anyOf", ())):
        yield from _keys(f"{path}.", one)
        items: dict[str, Any] = one.get("items", {})
        for item in (items, *items.get("anyOf", ())):
            yield from _keys(f"{path}[].", item)
        if isinstance(named := one.get("additionalProperties"), dict):
            yield from _keys(f"{path}.<name>.", named)


def _any_of(tiers: dict[str, Any]) -> dict[str, Any]:
    """The common schema of the tiers, with `by tier` for defaults that differ."""
    read: dict[str, Any] = {}
    for key, described in tiers["maintainer"]["properties"].items():
        defaults = [tier["properties"][key].get("default") for tier in tiers.values()]
        same = all(one == defaults[0] for one in defaults)
        read[key] = described if same else {**described, "default": "by tier"}
    return {"properties": read}


def _default_text(default: object) -> str:
    if isinstance(default, list):
        return ", ".join(map(str, default)) or "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, int | float) else str(default)

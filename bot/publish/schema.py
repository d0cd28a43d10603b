"""`outcome.json` back into an `Outcome`: the dataclasses are the schema, and all else is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.contracts.errors import UsageError
from bot.contracts.outcome import SCHEMA_VERSION, Outcome
from bot.contracts.request import Request

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")
_URL = re.compile(r"(?:https?://[^\s<>\"'`\\()\[\]]{1,2000})?")
_REF = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,255}")


def parse_outcome(raw: bytes) -> Outcome:
    """Raises `UsageError` with one sentence naming the first field that is wrong."""
    # Imported here: pydantic costs 100 ms, and the run's start-up path imports this room.
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import from_json

    try:
        data = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise _refusal(f"not JSON ({error})") from error
    if not isinstance(data, dict):
        raise _refusal("not a JSON object")
    if data.get("schema") != SCHEMA_VERSION:
        raise _refusal(f"schema {data.get('schema')!r:.40}, and this version reads {SCHEMA_VERSION} only")
    adapter = TypeAdapter(Outcome)
    try:
        outcome = adapter.validate_json(raw, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _refusal(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if unknown := _unknown_field(data, adapter.dump_python(outcome, mode="json"), ""):
        raise _refusal(f"{unknown[:80]}: unknown field")
    if wrong := _wrong_value(outcome):
        raise _refusal(wrong)
    return outcome


def _refusal(why: str) -> UsageError:
    shown = "".join(c if c.isprintable() else "?" for c in why)
    return UsageError(f"outcome.json is not a valid outcome: {shown}.")


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


def _wrong_value(outcome: Outcome) -> str:
    """What no type can say. Returns "field: why" for the first wrong one."""
    request = outcome.request
    numbers = (
        outcome.cost,
        *(run.duration for check in outcome.checks for run in (check.before, check.after)),
    )
    rules = (
        ("base_sha", "not a full object name", _SHA.fullmatch(outcome.base_sha)),
        ("patch_sha256", "not a SHA-256", _SHA256.fullmatch(outcome.patch_sha256)),
        ("started_at", "not an RFC 3339 time in UTC", _is_time(outcome.started_at)),
        ("ended_at", "not an RFC 3339 time in UTC", _is_time(outcome.ended_at)),
        ("cost", "not a finite positive number", all(math.isfinite(n) and n >= 0 for n in numbers)),
        ("turns", "negative", outcome.turns >= 0),
    )
    for field, why, right in (*rules, *_request_rules(request)):
        if not right:
            return f"{field}: {why}"
    return ""


def _request_rules(request: Request) -> tuple[tuple[str, str, object], ...]:
    thread, trigger = request.thread, request.trigger
    return (
        ("request.repository", "not owner/name", _is_repository(request.repository)),
        ("request.actor.login", "not a login", _LOGIN.fullmatch(request.actor.login)),
        ("request.actor.id", "negative", request.actor.id >= 0),
        ("request.base_ref", "not a branch name", not request.base_ref or _REF.fullmatch(request.base_ref)),
        ("request.thread.number", "not positive", thread is None or thread.number > 0),
        ("request.thread.url", "not a web address", thread is None or _URL.fullmatch(thread.url)),
        ("request.trigger.comment_id", "negative", trigger is None or trigger.comment_id >= 0),
        ("request.trigger.url", "not a web address", trigger is None or _URL.fullmatch(trigger.url)),
        ("request.trigger.at", "not an RFC 3339 time in UTC", trigger is None or _is_time(trigger.at)),
    )


def _is_repository(name: str) -> bool:
    """Empty is a local checkout without a remote."""
    return not name or _REPOSITORY.fullmatch(name) is not None


def _is_time(text: str) -> bool:
    try:
        offset = datetime.fromisoformat(text).utcoffset()
    except ValueError:
        return False
    return offset is not None and not offset

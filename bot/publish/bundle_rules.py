"""Validate values of a bundle beyond their types: object names, addresses, times, counts, lengths. Pure.

`_RULES` has a rule for each field that needs one, by its name or that of its record too; no count is negative, and no
list is endless. Texts are cut where they are rendered.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from bot.contracts.plan import is_inside
from bot.verbs.registry import VERBS

MAX_LISTED = 2_000
"""Far above any real run, and low enough that rendering is fast."""
_MAX_IN_REQUEST = 100_000
_LARGEST = 1 << 53

_Rule = tuple[str, Callable[[Any], object]]
_REPOSITORY = r"(?:[A-Za-z0-9-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100})?"
_REF = r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,255}"
_SHA = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"


def invalid_field(value: object, where: str = "") -> str:
    """Return `field: reason` for the first invalid value of an outcome or a review, empty if there is none."""
    if isinstance(value, int | float):
        # A larger one is no real count, and formatting one with thousands of digits fails.
        lowest = -_LARGEST if where.endswith("exit_code") else 0
        return "" if lowest <= value <= _LARGEST else f"{where}: a number is out of range"
    names = getattr(value, "_fields", ())
    if isinstance(value, tuple) and not names:
        most = _MAX_IN_REQUEST if where.startswith("request.") else MAX_LISTED
        if len(value) > most:
            return f"{where}: {len(value):,} are over the limit of {most:,}"
        return next(filter(None, (invalid_field(one, where) for one in value)), "")
    kind = type(value).__name__
    if (rule := _RULES.get(kind)) and not rule[1](value):
        return f"{where}: {rule[0]}"
    for name in names:
        inner, part = f"{where}.{name}".lstrip("."), getattr(value, name)
        if (rule := _RULES.get(f"{kind}.{name}") or _RULES.get(name)) and not rule[1](part):
            return f"{inner}: {rule[0]}"
        if wrong := invalid_field(part, inner):
            return wrong
    return ""


def _is_time(text: str) -> bool:
    try:
        offset = datetime.fromisoformat(text).utcoffset()
    except ValueError:
        return False
    return offset is not None and not offset


def _like(pattern: str, reason: str) -> _Rule:
    return reason, re.compile(pattern).fullmatch


_POSITIVE: _Rule = ("not positive", lambda number: number > 0)
_TIME: _Rule = ("not an RFC 3339 time in UTC", _is_time)
_OBJECT = _like(_SHA, "not a full object name")
_NO_OBJECT = _like(f"(?:{_SHA})?", "not a full object name")
_HASH = _like(r"(?:[0-9a-f]{64})?", "not a SHA-256")
_LOGIN = _like(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?", "not a login")
_URL = _like(r"(?:https?://[^\s<>\"'`\\()\[\]]{1,2000})?", "not a web address")
# Of a local checkout without a remote, and of a deleted fork, it is empty.
_NAME = _like(_REPOSITORY, "not owner/name")
_RULES: Mapping[str, _Rule] = {
    "base_sha": _OBJECT,
    "head_sha": _OBJECT,
    "since_sha": _NO_OBJECT,
    "trusted_sha": _NO_OBJECT,
    "patch_sha256": _HASH,
    "review_sha256": _HASH,
    "plan_sha256": _HASH,
    "writes_sha256": _HASH,
    "started_at": _TIME,
    "ended_at": _TIME,
    "at": _TIME,
    "number": _POSITIVE,
    "url": _URL,
    "verb": ("no verb", VERBS.__contains__),
    "task": _like(r"(?:[A-Za-z0-9][A-Za-z0-9._-]{0,99})?", "not the name of a task"),
    "login": _LOGIN,
    "PullRequest.author": _LOGIN,
    "repository": _NAME,
    "head_repository": _NAME,
    "base_ref": _like(f"(?:{_REF})?", "not a branch name"),
    # A person's branch may begin with a hyphen; it is never the beginning of an argument.
    "head_ref": _like(_REF.removeprefix("(?!-)"), "not a branch name"),
    "ReviewThread.id": _POSITIVE,
    "Plan": ("not a plan", lambda plan: not plan.problem),
    "Finding": ("the start is after the line", lambda finding: finding.start_line <= finding.line),
    "Finding.path": ("not a path inside the repository", is_inside),
    "fingerprint": _like(r"[0-9a-f]{0,64}", "not lower-case hex"),
}

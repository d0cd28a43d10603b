"""What a vendor wants back with a part, kept in the part's `extra` until then, with the name of who wrote it.

Item ids, encrypted reasoning and signatures mean something to one model behind one wire format, and are refused or
misread everywhere else: a part of another writer goes out without them (S-046).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

_NOTHING: Mapping[str, Any] = {}


def carry(by: str, given: Mapping[str, Any] = _NOTHING) -> str:
    """`given` as `by` wrote it, as an `extra`. What cannot be written again as JSON is left out."""
    try:
        return json.dumps({"by": by, **given}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({"by": by}, separators=(",", ":"))


def carried(extra: str, by: str) -> Mapping[str, Any]:
    """What `by` wrote into `extra`; nothing where it was somebody else, or where it cannot be read."""
    if not extra:
        return _NOTHING
    try:
        value = json.loads(extra)
    except (ValueError, RecursionError):
        return _NOTHING
    if not isinstance(value, dict) or value.get("by") != by:
        return _NOTHING
    return cast("Mapping[str, Any]", value)


def is_foreign(extra: str, by: str) -> bool:
    """Whether somebody else than `by` wrote the part. One without a writer counts as our own."""
    return bool(extra) and not carried(extra, by)

"""The JSON Schema of `outcome.json`, made from the types that are written and read: docs/outcome.schema.json."""

from __future__ import annotations

import json
from typing import Any

from bot.contracts.outcome import SCHEMA_VERSION, Outcome

URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/outcome.schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """Strict, as the reader is: a field that it does not name is refused."""
    from pydantic import TypeAdapter

    made = TypeAdapter(Outcome).json_schema(mode="serialization")
    for described in (made, *made["$defs"].values()):
        _tidy(described)
    made["properties"]["schema"] = {"const": SCHEMA_VERSION, "title": "Schema"}
    return {"$schema": _DIALECT, "$id": URL, **made, "title": "outcome.json of Slash Agent"}


def as_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(described: dict[str, Any]) -> None:
    if described.get("type") == "object" and "properties" in described:
        described["additionalProperties"] = False
        for one in described["properties"].values():
            one.pop("title", None)  # the name in capitals
    if "description" in described:
        described["description"] = " ".join(described["description"].split())

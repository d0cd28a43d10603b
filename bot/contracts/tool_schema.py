"""JSON Schemas of a tool's parameters: what the model may send for each argument."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def record(required: str, **properties: Schema) -> Schema:
    """Return the schema of an object with these properties; `required` names some of them."""
    return {"type": "object", "properties": properties, "required": required.split()}


def text(description: str = "", **limits: Any) -> Schema:
    """Return the schema of a string; `limits` are keywords as `maxLength` and `enum`."""
    return _described("string", description, limits)


def whole(description: str = "", **limits: Any) -> Schema:
    """Return the schema of a whole number."""
    return _described("integer", description, limits)


def array(items: Schema, description: str = "", **limits: Any) -> Schema:
    """Return the schema of an array of `items`."""
    return {**_described("array", description, limits), "items": items}


def _described(kind: str, description: str, limits: Schema) -> Schema:
    return {"type": kind, **limits, **({"description": description} if description else {})}

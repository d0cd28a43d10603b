"""The JSON Schema of the policy file, made from its model, for editors and the documentation."""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from bot.policy.field_types import JsonSchema
from bot.policy.read_policy import policy_adapter

_SCHEMA_URL = "https://raw.githubusercontent.com/slash-agent/slash-agent/v0/docs/agent.schema.json"
EDITOR_LINE = f"# yaml-language-server: $schema={_SCHEMA_URL}"
"""The first line of a policy file, with which editors complete and check it."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _SchemaGenerator(GenerateJsonSchema):
    """Titles are ours alone: words for what a place takes."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchema:
        """No file can spell `None`."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchema:
        """Leave out defaults that say nothing: null, empty text, and the defaults of a section's own keys."""
        described = super().default_schema(schema)
        if described.get("default") in (None, "") or isinstance(described["default"], dict):
            described.pop("default", None)
        elif isinstance(schema.get("default"), frozenset):
            described["default"] = sorted(described["default"])
        return described

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchema:
        names = self.generate_inner(schema["keys_schema"])
        names.pop("type", None)
        values = self.generate_inner(schema["values_schema"])
        return {"type": "object", "propertyNames": names, "additionalProperties": values}


def schema() -> JsonSchema:
    """Return the JSON Schema (draft 2020-12). The loader also reads quoted numbers; an empty file is valid."""
    described = policy_adapter().json_schema(schema_generator=_SchemaGenerator)
    for place in (described, *described["$defs"].values()):
        place.pop("title", None)
        place.pop("description", None)
        if "properties" in place:
            place["additionalProperties"] = False
    return {
        "$schema": _DIALECT,
        "$id": _SCHEMA_URL,
        "title": "Slash Agent policy",
        "description": "What the agent may do in a repository: .github/agent.yml, read from the base commit.",
        **described,
        "type": ["object", "null"],
    }


def schema_text() -> str:
    """Return the text of `docs/agent.schema.json`."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"

"""The JSON Schema of a model, for editors and for docs/policy.md."""

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from bot.policy.field_types import JsonSchema


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
        if described.get("default") is None or described["default"] in ("", {}):
            described.pop("default", None)
        elif isinstance(described["default"], dict):
            del described["default"]
        elif isinstance(schema.get("default"), frozenset):
            described["default"] = sorted(described["default"])
        return described

    def frozenset_schema(self, schema: core_schema.FrozenSetSchema) -> JsonSchema:
        described = super().frozenset_schema(schema)
        del described["uniqueItems"]
        return described

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchema:
        names = self.generate_inner(schema["keys_schema"])
        names.pop("type", None)
        values = self.generate_inner(schema["values_schema"])
        return {"type": "object", "propertyNames": names, "additionalProperties": values}


def json_schema(adapter: TypeAdapter[Any]) -> JsonSchema:
    """Return the JSON Schema (draft 2020-12) of what `adapter` reads."""
    schema = adapter.json_schema(schema_generator=_SchemaGenerator)
    for described in (schema, *schema["$defs"].values()):
        described.pop("title", None)
        described.pop("description", None)
        if "properties" in described:
            described["additionalProperties"] = False
    return schema

"""The JSON Schema of a model, for editors, for docs/policy.md, and for the words of a problem."""

import json
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

"""A mapping of the policy file as a table of its keys: read by it, and described by it to editors and people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import yaml

from bot.policy import nodes
from bot.policy.kinds import Kind, Schema, Value, Value_co
from bot.policy.nodes import Problems

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)


@dataclass(frozen=True, slots=True)
class Key(Generic[Value_co]):
    """`about` is a line for editors and docs. `missing` is what is wrong with a mapping that lacks it; empty where it
    may. `field` is its name among the values, where that is another one; `default` what holds where it is not given,
    where that is no field of a default value."""

    name: str
    kind: Kind[Value_co]
    about: str
    missing: str = ""
    field: str = ""
    default: object = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a mapping gave, by key: the node as it is written, and its value, `None` where there was a problem."""

    nodes: Mapping[str, yaml.Node]
    values: Mapping[str, Any]

    def get(self, key: Key[Value], otherwise: Value) -> Value:
        value: Value | None = self.values.get(key.name)
        return otherwise if value is None else value


@dataclass(frozen=True, slots=True)
class Table:
    keys: tuple[Key[Any], ...]

    def __iter__(self) -> Iterator[str]:
        return (key.name for key in self.keys)

    def read(self, node: yaml.Node, problems: Problems) -> Found:
        found = nodes.entries(node, tuple(self), problems)
        values = {
            key.name: key.kind.read(found[key.name], problems) for key in self.keys if key.name in found
        }
        if isinstance(node, yaml.MappingNode):
            for key in self.keys:
                if key.missing and key.name not in found:
                    problems.add(node, key.missing)
        return Found(found, values)

    def onto(self, default: Record, found: Found, *, leaving: Collection[str] = ()) -> Record:
        """`default` with what was given, and given well, but for the keys that are `leaving` it alone."""
        changes = {
            key.field or key.name: found.values.get(key.name) for key in self.keys if key.name not in leaving
        }
        return replace(default, **{name: value for name, value in changes.items() if value is not None})

    def over(self, default: Record, words: str = "") -> Kind[Record]:
        """The mapping as a kind of its own: `default`, with what is given."""
        return Kind(
            lambda node, problems: self.onto(default, self.read(node, problems)), self.schema(default), words
        )

    def schema(self, default: object = None) -> Schema:
        """`default` is the value that has this table's fields: what holds for a key that is not there."""
        properties: dict[str, Any] = {}
        for key in self.keys:
            described: dict[str, Any] = {"description": key.about, **key.kind.schema}
            if key.kind.words:
                described = {"title": key.kind.words, **described}
            known, value = _default(default, key)
            properties[key.name] = {**described, "default": value} if known else described
        required = [key.name for key in self.keys if key.missing]
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**schema, "required": required} if required else schema


def _default(owner: object, key: Key[Any]) -> tuple[bool, object]:
    name = key.field or key.name
    if key.default is not None:
        return plain(key.default)
    if owner is None or name not in {one.name for one in fields(owner)}:  # type: ignore[arg-type] # a dataclass's
        return False, None
    return plain(getattr(owner, name))


def plain(value: object) -> tuple[bool, object]:
    """A value as JSON says it, and whether JSON can; what caps nothing has no default to show."""
    if isinstance(value, bool | int | float | str):
        return value != "", value
    if isinstance(value, frozenset):
        return True, sorted(map(str, value))
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return True, list(value)
    return False, None

"""Tables of keys of the policy file, and the kinds of their values: each reads a YAML node and has a JSON Schema.

The loader and the published schema use the same objects, so the loader refuses what the schema refuses. The loader
checks more: whether a number is quoted, whether two names differ in case only, whether a rule can decide anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import yaml

from bot.policy import globs, nodes
from bot.policy.nodes import Problems

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)

Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
Other = TypeVar("Other")
Item = TypeVar("Item", bound=Hashable)
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind(Generic[Value_co]):
    """`read` returns `None` for an invalid value and reports it. A mapping of known keys has no `words`."""

    read: Callable[[yaml.Node, Problems], Value_co | None]
    schema: Schema
    words: str

    def into(self, make: Callable[[Value_co], Other]) -> Kind[Other]:
        """Return the same kind with its value converted by `make`."""

        def read(node: yaml.Node, problems: Problems) -> Other | None:
            value = self.read(node, problems)
            return None if value is None else make(value)

        return Kind(read, self.schema, self.words)


# Numbers and booleans are read as text if text is expected: `name: 3`, `on: yes`.
_SCALAR = {"type": ["string", "number", "boolean"]}
_GLOB = r"^[^/\\\u0000-\u001f\u007f-\u009f][^\\\u0000-\u001f\u007f-\u009f]*$"
_LINE = {"pattern": r"^ *[^ \u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"}


def whole(lowest: int, highest: int) -> Kind[int]:
    return Kind(
        lambda node, problems: nodes.whole(node, problems, lowest, highest),
        {"type": "integer", "minimum": lowest, "maximum": highest},
        f"whole number, {lowest} to {highest:,}",
    )


def decimal(highest: float) -> Kind[float]:
    return Kind(
        lambda node, problems: nodes.decimal(node, problems, highest),
        {"type": "number", "minimum": 0, "maximum": highest},
        f"number, 0 to {highest:,}",
    )


def seconds(highest: int) -> Kind[float]:
    return Kind(
        lambda node, problems: nodes.seconds(node, problems, highest),
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": highest},
                {"type": "string", "pattern": "^[1-9][0-9]{0,5}[smh]?$"},
            ]
        },
        f"time, as in 90, 90s, 5m or 1h; at most {highest:,} seconds",
    )


def truth(expected: str = "true or false") -> Kind[bool]:
    return Kind(
        lambda node, problems: nodes.truth(node, problems, expected), {"type": "boolean"}, "true or false"
    )


def line(
    pattern: re.Pattern[str] | None = None, expected: str = "", *, schema: str = "", words: str = "text"
) -> Kind[str]:
    """Text of one line that `pattern` matches in full; `expected` is the message otherwise. `schema` is the pattern for
    the schema, if Python and ECMAScript read it differently."""

    def read(node: yaml.Node, problems: Problems) -> str | None:
        value = nodes.line(node, problems)
        if value is None or pattern is None or pattern.fullmatch(value):
            return value
        problems.add(node, expected)
        return None

    if pattern is None:
        return Kind(read, {**_SCALAR, **_LINE}, words)
    return Kind(read, {**_SCALAR, "pattern": f"^(?:{schema or pattern.pattern})$"}, words)


def glob() -> Kind[str]:
    def read(node: yaml.Node, problems: Problems) -> str | None:
        value = nodes.line(node, problems)
        if value is not None and (flaw := globs.flaw(value)):
            problems.add(node, flaw)
            return None
        return value

    return Kind(read, {**_SCALAR, "pattern": _GLOB}, "globs")


def script() -> Kind[str]:
    return Kind(nodes.script, {**_SCALAR, "pattern": r"\S"}, "shell command")


def text() -> Kind[str]:
    return Kind(nodes.text, _SCALAR, "text")


def choice(known: Collection[str], removed: Collection[str] = ()) -> Kind[str]:
    return Kind(
        lambda node, problems: nodes.choice(node, known, problems, removed),
        {"enum": list(known)},
        ", ".join(known),
    )


def literal(word: str, value: Value, kind: Kind[Value], expected: str = "") -> Kind[Value]:
    """A word for `value`, or `kind`. Without `expected`, the message for other scalars, these are left to `kind`."""

    def read(node: yaml.Node, problems: Problems) -> Value | None:
        if isinstance(node, yaml.ScalarNode):
            if node.value == word:
                return value
            if expected:
                problems.add(node, f"expected {expected}")
                return None
        return kind.read(node, problems)

    return Kind(read, {"anyOf": [{"const": word}, kind.schema]}, f"{word}, or {kind.words}")


def list_of(
    kind: Kind[Item], *, most: int = 0, over: str = "", once: bool = False, least: str = "", words: str = ""
) -> Kind[tuple[Item, ...]]:
    """A list of at most `most` items; `once`: without duplicates. `over` is the message for more, `least` for none."""

    def read(node: yaml.Node, problems: Problems) -> tuple[Item, ...] | None:
        values: list[Item] = []
        items = nodes.items(node, problems)
        for item in items:
            value = kind.read(item, problems)
            if value is None:
                continue
            if once and value in values:
                problems.add(item, f"`{str(value)[:60]}` is listed twice")
            elif most and len(values) == most:
                problems.add(item, over)
            else:
                values.append(value)
        if least and not items and isinstance(node, yaml.SequenceNode):
            problems.add(node, least)
        return tuple(values)

    schema: dict[str, Any] = {"type": "array", "items": kind.schema}
    schema |= {"maxItems": most} if most else {}
    schema |= {"uniqueItems": True} if once else {}
    schema |= {"minItems": 1} if least else {}
    return Kind(read, schema, words or f"list of {kind.words}")


def mapping_of(
    key: Kind[Item], value: Kind[Value], *, fold: Callable[[Item], Item] = lambda one: one, words: str
) -> Kind[Mapping[Item, Value]]:
    """A mapping. Keys that are equal after `fold` are duplicates."""

    def read(node: yaml.Node, problems: Problems) -> Mapping[Item, Value] | None:
        values: dict[Item, Value] = {}
        for name_node, value_node in nodes.pairs(node, problems):
            name, one = key.read(name_node, problems), value.read(value_node, problems)
            if name is None or one is None:
                continue
            if fold(name) in values:
                problems.add(name_node, f"`{str(name)[:60]}` is given twice")
            values[fold(name)] = one
        return MappingProxyType(values)

    names = {name: rule for name, rule in key.schema.items() if name != "type"}
    return Kind(read, {"type": "object", "propertyNames": names, "additionalProperties": value.schema}, words)


@dataclass(frozen=True, slots=True)
class Key(Generic[Value_co]):
    """`about` is a line for editors and docs. `missing` is the message if a mapping lacks it, empty for an optional
    key. `field` is the name of its value's field, if different; `default` the default, if no default value has that
    field."""

    name: str
    kind: Kind[Value_co]
    about: str
    missing: str = ""
    field: str = ""
    default: object = None


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping that was read: by key the node, and the value, `None` if it is invalid."""

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

    def read(self, node: yaml.Node, problems: Problems) -> Section:
        section = nodes.entries(node, tuple(self), problems)
        values = {
            key.name: key.kind.read(section[key.name], problems) for key in self.keys if key.name in section
        }
        if isinstance(node, yaml.MappingNode):
            for key in self.keys:
                if key.missing and key.name not in section:
                    problems.add(node, key.missing)
        return Section(section, values)

    def onto(self, default: Record, section: Section, *, ignored: Collection[str] = ()) -> Record:
        """Return `default` with the valid values of all keys that are not `ignored`."""
        changes = {
            key.field or key.name: section.values.get(key.name)
            for key in self.keys
            if key.name not in ignored
        }
        return replace(default, **{name: value for name, value in changes.items() if value is not None})

    def over(self, default: Record) -> Kind[Record]:
        """Return the mapping as a kind; its value is `default` with the keys of the file."""
        return Kind(
            lambda node, problems: self.onto(default, self.read(node, problems)), self.schema(default), ""
        )

    def schema(self, default: object = None) -> Schema:
        """Return the JSON Schema. `default` has the default of each key as a field."""
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
    """Return whether `value` can be shown as a default in JSON, and its form there."""
    if isinstance(value, bool | int | float | str):
        return value != "", value
    if isinstance(value, frozenset):
        return True, sorted(map(str, value))
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return True, list(value)
    return False, None

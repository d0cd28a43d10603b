"""Kinds of values in the policy file. Each knows how it is read, what JSON Schema says of it, and its name in words.

The loader reads with the very objects that the published schema is made of, so what the schema refuses the loader
refuses. The loader knows more: whether a number was quoted, whether two names are one in other letters, whether a rule
can decide anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import yaml

from bot.policy import globs, nodes
from bot.policy.nodes import Problems

Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
Other = TypeVar("Other")
Item = TypeVar("Item", bound=Hashable)
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind(Generic[Value_co]):
    """`read` gives `None` where there was a problem, and has named it. A mapping of known keys has no `words`."""

    read: Callable[[yaml.Node, Problems], Value_co | None]
    schema: Schema
    words: str

    def into(self, make: Callable[[Value_co], Other]) -> Kind[Other]:
        """The same kind, its value made into another."""

        def read(node: yaml.Node, problems: Problems) -> Other | None:
            value = self.read(node, problems)
            return None if value is None else make(value)

        return Kind(read, self.schema, self.words)


# What YAML reads as a number or a truth is text too, where text is expected: `name: 3`, `on: yes`.
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
    """Text of one line. `pattern` matches all of it, else it is not what was `expected`. `schema` is the pattern for
    the schema, where Python and ECMAScript would read it differently."""

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

    return Kind(
        read,
        {**_SCALAR, "pattern": r"^[^/\\\u0000-\u001f\u007f-\u009f][^\\\u0000-\u001f\u007f-\u009f]*$"},
        "globs",
    )


def script() -> Kind[str]:
    return Kind(nodes.script, {**_SCALAR, "pattern": r"\S"}, "shell command")


def text() -> Kind[str]:
    return Kind(nodes.text, _SCALAR, "text")


def choice(known: Collection[str]) -> Kind[str]:
    return Kind(
        lambda node, problems: nodes.choice(node, known, problems), {"enum": list(known)}, ", ".join(known)
    )


def literal(word: str, value: Value, kind: Kind[Value], expected: str = "") -> Kind[Value]:
    """A word that stands for `value`, or `kind`. With `expected` any other scalar is refused by these words."""

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
    """At most `most` of them, else they are `over`; each `once`; and with `least`, what an empty list is."""

    def read(node: yaml.Node, problems: Problems) -> tuple[Item, ...] | None:
        found: list[Item] = []
        items = nodes.items(node, problems)
        for item in items:
            value = kind.read(item, problems)
            if value is None:
                continue
            if once and value in found:
                problems.add(item, f"`{str(value)[:60]}` is listed twice")
            elif most and len(found) == most:
                problems.add(item, over)
            else:
                found.append(value)
        if least and not items and isinstance(node, yaml.SequenceNode):
            problems.add(node, least)
        return tuple(found)

    schema: dict[str, Any] = {"type": "array", "items": kind.schema}
    schema |= {"maxItems": most} if most else {}
    schema |= {"uniqueItems": True} if once else {}
    schema |= {"minItems": 1} if least else {}
    return Kind(read, schema, words or f"list of {kind.words}")


def mapping_of(
    key: Kind[Item], value: Kind[Value], *, fold: Callable[[Item], Item] = lambda one: one, words: str
) -> Kind[Mapping[Item, Value]]:
    """Keys that are the same once `fold`ed are one key given twice."""

    def read(node: yaml.Node, problems: Problems) -> Mapping[Item, Value] | None:
        found: dict[Item, Value] = {}
        for name_node, value_node in nodes.pairs(node, problems):
            name, one = key.read(name_node, problems), value.read(value_node, problems)
            if name is None or one is None:
                continue
            if fold(name) in found:
                problems.add(name_node, f"`{str(name)[:60]}` is given twice")
            found[fold(name)] = one
        return MappingProxyType(found)

    names = {name: rule for name, rule in key.schema.items() if name != "type"}
    return Kind(read, {"type": "object", "propertyNames": names, "additionalProperties": value.schema}, words)

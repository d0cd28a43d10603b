"""Read a YAML document as nodes with line and column. PyYAML composes it in the child process of `bot.parsing.parser`.

The text is untrusted: its size, its depth and its number of values are limited, each with aliases expanded, and no tag
creates an object. The child's answer is untrusted too, and checked against the same limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bot.parsing.compose_yaml import MAX_DEPTH, MAX_NODES, STANDARD_TYPES, YamlError, compose, size_of
from bot.parsing.parser import ParseError, Parser


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`text` is a scalar as written, in `quotes` if there are any. `items` are a list's, or a mapping's keys and values
    in turn. `tag` is one that is not YAML's own, else empty. An alias is the node of its anchor."""

    kind: Literal["mapping", "sequence", "scalar"]
    line: int
    column: int
    text: str = ""
    quotes: str = ""
    tag: str = ""
    is_null: bool = False
    items: tuple[Node, ...] = ()

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        return list(zip(self.items[::2], self.items[1::2], strict=True))


def read_yaml(text: str, parser: Parser | None = None) -> Node | None:
    """Return the root of the one document in `text`, `None` for an empty one, read by a child of its own without
    `parser`. Raises `YamlError`."""
    if parser is None:
        with Parser() as own:
            return read_yaml(text, own)
    try:
        answer = parser.parse(compose, text)
    except ParseError as error:
        raise YamlError(1, 1, f"not read: {error}") from error
    try:
        if answer["problem"]:
            line, column, message = answer["problem"]
            raise YamlError(int(line), int(column), str(message))
        return _joined(answer["nodes"])
    except (TypeError, ValueError, KeyError) as error:
        raise YamlError(1, 1, "not read: its parser answered with no document") from error


def _joined(entries: list[Any]) -> Node | None:
    """Return the root of `entries`, the last one. Children come before their parents, so there are no circles."""
    nodes: list[Node] = []
    sizes: list[tuple[int, int]] = []
    for kind, tag, line, column, quotes, value in entries:
        if kind not in ("mapping", "sequence", "scalar"):
            raise ValueError(kind)
        children = [] if kind == "scalar" else value
        if any(type(child) is not int or not 0 <= child < len(nodes) for child in children):
            raise ValueError(children)
        sizes.append(size_of([sizes[child] for child in children]))
        if max(sizes[-1][0] / MAX_NODES, sizes[-1][1] / MAX_DEPTH) > 1 or (
            kind == "mapping" and len(children) % 2
        ):
            raise ValueError(value)
        nodes.append(
            Node(
                kind,
                int(line),
                int(column),
                text=str(value) if kind == "scalar" else "",
                quotes=str(quotes),
                tag="" if tag in STANDARD_TYPES else str(tag),
                is_null=tag == "null",
                items=tuple(nodes[child] for child in children),
            )
        )
    return nodes[-1] if nodes else None

"""Compose YAML in the child process of `bot.parsing.parser`, as entries that `bot.parsing.yaml_nodes` joins.

An entry is `[kind, tag, line, column, quotes, value]`: the value is a scalar's text, or the numbers of the entries
below it. This module imports little, since its import is part of the child's start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

    YamlNode = yaml.ScalarNode | yaml.SequenceNode | yaml.MappingNode

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_NODES = 20_000

_STANDARD_TAG = "tag:yaml.org,2002:"
STANDARD_TYPES = ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")


class YamlError(Exception):
    """A text is not one valid document. `line` and `column` count from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line, self.column, self.message = line, column, message


def size_of(children: list[tuple[int, int]]) -> tuple[int, int]:
    """Return number of values and depth of a node, whose scalars are not a level."""
    values = 1 + sum(size for size, _ in children)
    return values, max((depth + 1 for _, depth in children), default=0)


def compose(text: str) -> dict[str, object]:
    """Compose the nodes of `text`, as values of JSON. Runs in the child."""
    import yaml

    answer: dict[str, object] = {"problem": None, "nodes": []}
    try:
        if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            raise YamlError(1, 1, f"the file is over {MAX_BYTES // 1024} kB")
        _check_events(text)
        root: Any = yaml.compose(text, _loader())
        if root is not None and root.tag != f"{_STANDARD_TAG}null":
            answer["nodes"] = _Entries(root).entries
    except YamlError as error:
        answer["problem"] = [error.line, error.column, error.message]
    except yaml.reader.ReaderError as error:
        answer["problem"] = [*_end_of(text[: error.position]), f"not YAML: {error.reason}"]
    except UnicodeEncodeError as error:
        answer["problem"] = [*_end_of(text[: error.start]), "not YAML: half of a surrogate pair"]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        answer["problem"] = [line, column, f"not YAML: {_cause(error, text, line)}"]
    return answer


def _loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _check_events(text: str) -> None:
    """Check depth and number of documents without recursion: composing a file of brackets alone would overflow the
    stack."""
    import yaml

    depth = documents = 0
    for event in yaml.parse(text, _loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if depth > MAX_DEPTH:
            raise YamlError(*_position(event), f"nested over {MAX_DEPTH} levels deep")
        if documents > 1:
            raise YamlError(*_position(event), "a second document begins here; there may be one")


class _Entries:
    """The nodes below a root as entries, children before parents, each node once."""

    def __init__(self, root: YamlNode) -> None:
        self.entries: list[list[object]] = []
        self._numbers: dict[int, int] = {}
        self._sizes: dict[int, tuple[int, int]] = {}
        self._open: set[int] = set()
        self._add(root, 0)

    def _add(self, node: YamlNode, depth: int) -> int:
        """Return the number of `node`'s entry. The depth is limited before each level of recursion."""
        if id(node) in self._open:
            raise YamlError(*_position(node), "this anchor contains itself")
        if id(node) not in self._numbers:
            if depth > MAX_DEPTH:
                raise YamlError(*_position(node), f"nested over {MAX_DEPTH} levels deep with its aliases")
            self._open.add(id(node))
            self._enter(node, depth)
            self._open.remove(id(node))
        if depth + self._sizes[id(node)][1] > MAX_DEPTH:
            raise YamlError(*_position(node), f"nested over {MAX_DEPTH} levels deep with its aliases")
        return self._numbers[id(node)]

    def _enter(self, node: YamlNode, depth: int) -> None:
        children = _children(node)
        value = node.value if node.id == "scalar" else [self._add(child, depth + 1) for child in children]
        size = self._sizes[id(node)] = size_of([self._sizes[id(child)] for child in children])
        if size[0] > MAX_NODES:
            raise YamlError(*_position(node), f"over {MAX_NODES} values with its aliases")
        self._numbers[id(node)] = len(self.entries)
        quotes = getattr(node, "style", None) if node.id == "scalar" else ""
        self.entries.append(
            [node.id, node.tag.removeprefix(_STANDARD_TAG), *_position(node), quotes or "", value]
        )


def _children(node: YamlNode) -> list[YamlNode]:
    if node.id == "mapping":
        return [one for pair in node.value for one in pair]
    return list(node.value) if node.id == "sequence" else []


def _end_of(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _position(marked: yaml.Node | yaml.Event) -> tuple[int, int]:
    mark = marked.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _cause(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    lines = text.split("\n")
    content = lines[line - 1] if line <= len(lines) else ""
    if "\t" in content[: len(content) - len(content.lstrip(" \t"))]:
        return "a tab in the indentation; use spaces"
    return error.problem or error.context or "it cannot be parsed"

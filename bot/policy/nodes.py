"""Read a YAML document as typed nodes; every problem has its line and column.

The text is untrusted: size, depth and the expansion of aliases are limited before the nodes are walked, and no tag
creates an object.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NoReturn

import yaml

from bot.events.nearest import nearest
from bot.policy.load import PolicyError, Problem

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_NODES = 20_000

_STANDARD_TAG = "tag:yaml.org,2002:"
_STANDARD_TYPES = frozenset(
    {"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value"}
)
_WHOLE = re.compile(r"0|[1-9][0-9]{0,15}")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?")
_DURATION = re.compile(r"([1-9][0-9]{0,5})(s|m|h)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "h": 3600}

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Problems:
    """Collects all errors and warnings of a file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._errors: list[Problem] = []
        self._warnings: list[Problem] = []

    def warn(self, node: yaml.Node, message: str) -> None:
        """Report something that is valid and possibly unintended."""
        self._warnings.append(Problem(*_position(node), message))

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._warnings))

    def add(self, node: yaml.Node, message: str) -> None:
        self._errors.append(Problem(*_position(node), message))

    def position(self, node: yaml.Node) -> str:
        return f"{self._source}:{_position(node)[0]}"

    def stop(self, line: int, column: int, message: str) -> NoReturn:
        raise PolicyError(self._source, [*self._errors, Problem(line, column, message)])

    def raise_any(self) -> None:
        if self._errors:
            raise PolicyError(self._source, self._errors)


def compose(text: str, problems: Problems) -> yaml.Node | None:
    """Return the root node, `None` for an empty document. Raises `PolicyError` for anything but one document."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        problems.stop(1, 1, f"the file is over {MAX_BYTES // 1024} kB")
    try:
        _check_depth(text, problems)
        root: yaml.Node | None = yaml.compose(text, _LOADER)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        problems.stop(*_end_of(before), f"not YAML: {error.reason}")
    except UnicodeEncodeError as error:
        problems.stop(*_end_of(text[: error.start]), "not YAML: half of a surrogate pair")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problems.stop(line, column, _in_words(error, text, line))
    if root is None or _is_null(root):
        return None
    _check_expansion(root, problems)
    return root


def entries(node: yaml.Node, known: Collection[str], problems: Problems) -> dict[str, yaml.Node]:
    """Return a mapping's values by key. Unknown and repeated keys, and anything but a mapping, are problems."""
    values: dict[str, yaml.Node] = {}
    for key, value in pairs(node, problems):
        name = text(key, problems)
        if name is None:
            continue
        if name in values:
            problems.add(key, f"`{name}` is given twice")
        elif name in known:
            values[name] = value
        else:
            problems.add(
                key, f"unknown key `{name[:40]}`; the nearest known one is `{nearest(name, sorted(known))}`"
            )
    return values


def pairs(node: yaml.Node, problems: Problems) -> list[tuple[yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode) and node.tag == f"{_STANDARD_TAG}map":
        return list(node.value)
    problems.add(node, f"expected a mapping of keys, found {_kind(node)}")
    return []


def items(node: yaml.Node, problems: Problems) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode) and node.tag == f"{_STANDARD_TAG}seq":
        return list(node.value)
    problems.add(node, f"expected a list, found {_kind(node)}")
    return []


def text(node: yaml.Node, problems: Problems) -> str | None:
    """Return a scalar as written: `yes`, `3` and `on` are text, not a boolean or a number."""
    if isinstance(node, yaml.ScalarNode) and _is_standard(node) and not _is_null(node):
        return str(node.value)
    problems.add(node, f"expected text, found {_kind(node)}")
    return None


def line(node: yaml.Node, problems: Problems) -> str | None:
    """Return text of one line that is not blank."""
    value = text(node, problems)
    if value is None:
        return None
    if not value.strip():
        problems.add(node, "this is empty")
        return None
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in value):
        problems.add(node, "this has line ends or control characters")
        return None
    return value


def script(node: yaml.Node, problems: Problems) -> str | None:
    """Return a shell command; it may have several lines."""
    value = text(node, problems)
    if value is not None and (not value.strip() or "\0" in value):
        problems.add(node, "this is no command")
        return None
    return value


def truth(node: yaml.Node, problems: Problems, expected: str = "true or false") -> bool | None:
    if isinstance(node, yaml.ScalarNode) and not node.style and node.value in ("true", "false"):
        return bool(node.value == "true")
    problems.add(node, f"expected {expected}, found {_kind(node)}")
    return None


def whole(node: yaml.Node, problems: Problems, lowest: int, highest: int) -> int | None:
    if _is_plain(node) and _WHOLE.fullmatch(node.value) and lowest <= int(node.value) <= highest:
        return int(node.value)
    problems.add(node, f"expected a whole number from {lowest} to {highest}, found {_kind(node)}")
    return None


def decimal(node: yaml.Node, problems: Problems, highest: float) -> float | None:
    if _is_plain(node) and _DECIMAL.fullmatch(node.value) and float(node.value) <= highest:
        return float(node.value)
    problems.add(node, f"expected a number from 0 to {highest:g}, found {_kind(node)}")
    return None


def seconds(node: yaml.Node, problems: Problems, highest: int) -> float | None:
    """Return a time limit in seconds: a number, or with a unit as in `90s`, `5m`, `1h`, then also quoted."""
    if (
        isinstance(node, yaml.ScalarNode)
        and _is_standard(node)
        and (match := _DURATION.fullmatch(node.value))
        and (match.group(2) or not node.style)
    ):
        value = int(match.group(1)) * _SECONDS[match.group(2)]
        if value <= highest:
            return float(value)
    problems.add(node, f"expected a time of at most {highest} seconds, as in 90s or 5m, found {_kind(node)}")
    return None


def choice(
    node: yaml.Node, known: Collection[str], problems: Problems, removed: Collection[str] = ()
) -> str | None:
    value = text(node, problems)
    if value is None or value in known:
        return value
    if value in removed:
        problems.add(node, f"`{value}` was removed: delete this line")
        return None
    among, best = ", ".join(known), nearest(value, known)
    problems.add(node, f"`{value[:40]}` is not one of {among}; the nearest is `{best}`")
    return None


def _is_plain(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.style and _is_standard(node)


def _is_standard(node: yaml.Node) -> bool:
    return node.tag.removeprefix(_STANDARD_TAG) in _STANDARD_TYPES


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == f"{_STANDARD_TAG}null")


def _kind(node: yaml.Node) -> str:
    if not _is_standard(node):
        return f"the tag {node.tag}"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if _is_null(node):
        return "nothing"
    quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
    return f"`{str(node.value)[:40]}`" + (" in quotes" if quoted else "")


def _check_depth(text: str, problems: Problems) -> None:
    """Check the depth by events, without recursion: composing a file of brackets alone would overflow the stack."""
    depth = documents = 0
    for event in yaml.parse(text, _LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if depth > MAX_DEPTH:
            problems.stop(*_position(event), f"nested over {MAX_DEPTH} levels deep")
        if documents > 1:
            problems.stop(*_position(event), "a second document begins here; there may be one")


def _end_of(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _position(marked: yaml.Node | yaml.Event) -> tuple[int, int]:
    mark = marked.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def position_of(text: str, path: Sequence[str]) -> tuple[int, int]:
    """Return line and column of the value at the keys `path` in a valid file, or of the last one that exists."""
    node = yaml.compose(text, _LOADER)
    for name in path:
        values = {key.value: value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}
        node = values.get(name, node)
    return _position(node) if node else (1, 1)


def _check_expansion(root: yaml.Node, problems: Problems) -> None:
    """Limit the number of values with aliases expanded; an alias inside its own anchor is an error."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node) -> int:
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_nodes:
            problems.stop(*_position(node), "this anchor contains itself")
        open_nodes.add(id(node))
        total = 1 + sum(map(size, _children(node)))
        open_nodes.remove(id(node))
        if total > MAX_NODES:
            problems.stop(
                *_position(node),
                f"over {MAX_NODES} values with its aliases",
            )
        sizes[id(node)] = total
        return total

    size(root)


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _in_words(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    lines = text.split("\n")
    indent = re.match(r"[ \t]*", lines[line - 1] if line <= len(lines) else "")
    if indent and "\t" in indent.group():
        return "not YAML: a tab in the indentation; use spaces"
    return f"not YAML: {error.problem or error.context or 'it cannot be parsed'}"

"""Read YAML in the child process of `bot.parsing.parser`, for `bot.parsing.yaml_document`.

This module imports little, since its import is part of the child's start.
"""

from typing import Any

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_NODES = 20_000

_STANDARD_TAG = "tag:yaml.org,2002:"
_STANDARD_TYPES = ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")


def compose(text: str) -> dict[str, Any]:
    """Return the one document in `text`: its `value` of lists, dictionaries and scalars as they are written, null as an
    empty text; `places`, a row `[path, line, column, what stands there]` for each value and each key; and its
    `problems`, or the `error` of one that cannot be read, as `[line, column, message]`."""
    import yaml

    document = _Document()
    try:
        if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            raise _Unreadable(1, 1, f"the file is over {MAX_BYTES // 1024} kB")
        root: Any = yaml.compose(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        is_empty = root is None or root.tag == f"{_STANDARD_TAG}null"
        value = None if is_empty else document.read(root, [])
    except _Unreadable as error:
        return {"error": error.args}
    except yaml.reader.ReaderError as error:
        return {"error": [*_end_of(text[: error.position]), f"not YAML: {error.reason}"]}
    except UnicodeEncodeError as error:
        return {"error": [*_end_of(text[: error.start]), "not YAML: half of a surrogate pair"]}
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return {"error": [line, column, f"not YAML: {_cause(error, text, line)}"]}
    return {"value": value, "places": document.places, "problems": document.problems}


class _Unreadable(Exception):
    """A document that is not read. The arguments are line, column and reason."""


class _Document:
    """The places and the problems of a document, aliases expanded."""

    def __init__(self) -> None:
        self.places: list[list[Any]] = []
        self.problems: list[list[Any]] = []

    def read(self, node: Any, path: list[str | int]) -> Any:
        """Return the value of `node`, which is at `path`."""
        position = [node.start_mark.line + 1, node.start_mark.column + 1]
        self.places.append([path, *position, _description(node)])
        if len(self.places) > MAX_NODES:
            raise _Unreadable(*position, f"over {MAX_NODES} values with its aliases")
        if len(path) > MAX_DEPTH:
            raise _Unreadable(*position, f"nested over {MAX_DEPTH} levels deep with its aliases")
        if node.id == "sequence":
            return [self.read(item, [*path, number]) for number, item in enumerate(node.value)]
        if node.id == "scalar":
            return "" if _description(node) == "nothing" else node.value
        values: dict[str, Any] = {}
        for key, value in node.value:
            at, found = [key.start_mark.line + 1, key.start_mark.column + 1], _description(key)
            if not found.startswith("`"):
                self.problems.append([*at, f"expected text, found {found}"])
            elif key.value in values:
                self.problems.append([*at, f"`{key.value[:60]}` is given twice"])
            else:
                values[key.value] = self.read(value, [*path, key.value])
                self.places.append([[*path, key.value, "[key]"], *at, found])
        return values


def _description(node: Any) -> str:
    tag = node.tag.removeprefix(_STANDARD_TAG)
    if tag not in _STANDARD_TYPES:
        return f"the tag {tag}"
    if node.id != "scalar":
        return "a mapping" if node.id == "mapping" else "a list"
    quotes = " in quotes" if node.style in ("'", '"') else ""
    return "nothing" if tag == "null" else f"`{node.value[:40]}`{quotes}"


def _end_of(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def _cause(error: Any, text: str, line: int) -> str:
    lines = text.split("\n")
    content = lines[line - 1] if line <= len(lines) else ""
    if "\t" in content[: len(content) - len(content.lstrip(" \t"))]:
        return "a tab in the indentation; use spaces"
    return error.problem or error.context or "it cannot be parsed"

"""The definitions of a Python file."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from bot.ecosystems.outline import Definition

_LARGEST = 4_000_000


def definitions(lines: Sequence[str]) -> list[Definition] | None:
    """`None` if it does not parse."""
    source = "\n".join(lines)
    if len(source) > _LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return list(_defined(tree, lines, 0))


def _defined(parent: ast.AST, lines: Sequence[str], depth: int) -> Iterator[Definition]:
    """Classes and functions, also those under an `if`, but nothing inside a function."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield Definition(first, node.end_lineno or first, depth, lines[node.lineno - 1].strip())
            if isinstance(node, ast.ClassDef):
                yield from _defined(node, lines, depth + 1)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _defined(node, lines, depth)

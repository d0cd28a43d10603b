"""The definitions of a long text file with their lines, for a `view` that names no range. Pure."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

_MOST = 200
_LONGEST = 120
_LARGEST = 4_000_000
_LONGEST_LINE = 300

_MODIFIERS = (
    "abstract async data default export final fileprivate inline internal open operator override partial private "
    "protected public readonly sealed static suspend unsafe virtual"
)
_MODIFIED = rf"(?:(?:{'|'.join(_MODIFIERS.split())})\s+)*"
_KEYWORDS = (
    "class interface enum record object struct trait protocol extension namespace module func fun function def type "
    "impl"
)
_TYPES = rf"\s*{_MODIFIED}(?:{'|'.join(_KEYWORDS.split())})\s+[\w$~<(]"
_NOT_CALLS = r"(?!(?:if|for|while|switch|catch|return|else|do|new|await|throw|case|delete|typeof)\b)"
_METHOD = rf"(?:\t| {{2,8}}){_NOT_CALLS}{_MODIFIED}(?:[\w<>\[\],.?*]+\s+){{0,3}}[\w$#]+\s*\([^;]*\{{\s*$"
_SCRIPT = (
    rf"{_TYPES}|(?:export\s+)?(?:const|let|var)\s+[\w$]+|(?:export\s+)?(?:async\s+)?function\b|{_METHOD}"
)
_C = rf"{_TYPES}|#define\s+\w+|(?:typedef|union)\b|{_NOT_CALLS}[A-Za-z_][\w\s*&:<>,~]*\([^;]*$"
_RUST = (
    r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|unsafe|const|extern)\s+)*"
    r"(?:fn|struct|enum|trait|impl|mod|type|macro_rules!)\b"
)

_PATTERNS = {
    end: re.compile(pattern)
    for ends, pattern in {
        ".py .pyi": r"\s*(?:class|def|async\s+def)\s+\w",
        ".md .markdown": r"#{1,6}\s+\S",
        ".js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte": _SCRIPT,
        ".go": r"(?:func|type|var|const)\b",
        ".rs": _RUST,
        ".c .h .cc .cpp .cxx .hh .hpp .hxx .m .mm": _C,
        ".java .kt .kts .cs .scala .swift .php .dart .groovy": rf"{_TYPES}|{_METHOD}",
        ".rb .ex .exs .lua": r"\s*(?:class|module|defmodule|def|defp|(?:local\s+)?function)\s+\S",
        ".sh .bash": r"(?:function\s+)?[\w:-]+\s*\(\)|function\s+\w",
    }.items()
    for end in ends.split()
}


class Definition(NamedTuple):
    """`first` and `last` are lines from 1; `depth` counts the definitions that it lies in."""

    first: int
    last: int
    depth: int
    text: str


def outline(name: str, lines: Sequence[str]) -> list[str]:
    """A line for each definition, `12-40 class A`; none for a file whose kind has no definitions."""
    found = _python(lines) if name.endswith((".py", ".pyi")) else None
    if found is None:
        found = _by_pattern(PurePosixPath(name).suffix.lower(), lines)
    while len(found) > _MOST and (deepest := max(one.depth for one in found)):
        found = [one for one in found if one.depth < deepest]
    shown = [f"{one.first}-{one.last} {'  ' * one.depth}{one.text[:_LONGEST]}" for one in found[:_MOST]]
    return shown + ([f"[{len(found) - _MOST} more]"] if len(found) > _MOST else [])


def _python(lines: Sequence[str]) -> list[Definition] | None:
    """`None` where it does not parse."""
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


def _by_pattern(suffix: str, lines: Sequence[str]) -> list[Definition]:
    """Each goes on to the next one that is indented no deeper, of headings to the next that is no smaller."""
    pattern = _PATTERNS.get(suffix)
    if pattern is None:
        return []
    starts: list[tuple[int, int, str]] = []
    fenced = False
    for number, line in enumerate(lines, start=1):
        if suffix in (".md", ".markdown"):
            fenced ^= line.lstrip().startswith(("```", "~~~"))
        if not fenced and len(line) <= _LONGEST_LINE and pattern.match(line):
            heading = len(line) - len(line.lstrip("#")) if suffix in (".md", ".markdown") else 0
            starts.append(
                (number, heading or len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip()), line.strip())
            )
    found: list[Definition] = []
    open_ones: list[tuple[int, int]] = []
    for number, indent, text in starts:
        while open_ones and open_ones[-1][0] >= indent:
            place = open_ones.pop()[1]
            found[place] = found[place]._replace(last=number - 1)
        found.append(Definition(number, len(lines), len(open_ones), text))
        open_ones.append((indent, len(found) - 1))
    return found

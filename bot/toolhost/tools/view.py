"""`view`: the lines of a text file, numbered, or of a long one its outline. What it shows may be edited afterwards."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from bot.contracts.text_encoding import marked_encoding
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context, integer_argument, text_argument
from bot.toolhost.file_excerpt import MAX_LINE, Window, of_stream, of_text
from bot.toolhost.file_history import sha256
from bot.toolhost.files import (
    LARGE,
    failure,
    inside,
    opened,
    read_all,
    relative,
    resolve_readable,
    view_call,
)
from bot.toolhost.text import (
    SNIFF,
    NotTextError,
    Text,
    count_lines,
    decode,
    is_binary,
    line_ends,
    split_lines,
    to_lf,
)
from bot.toolhost.tool_descriptions import MAX_LINES

LONG = 600
"""Lines: a view of a longer file shows the outline, unless it asks for a range."""

_HEAD = 200
"""Lines shown of a long file without an outline: data, a log, prose."""

_FEWEST = 3
"""Definitions that make an outline."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    raw_path = text_argument(arguments, "path")
    first = integer_argument(arguments, "offset", 1, 1, 1 << 40)
    limit = integer_argument(arguments, "limit", MAX_LINES, 1, MAX_LINES)
    path = resolve_readable(context, raw_path)
    name = relative(context, path)
    with opened(context, path, raw_path) as (fd, status):
        if status.st_size > LARGE:
            return _large(context, fd, name, status.st_size, first=first, limit=limit)
        data = read_all(fd, name)
    try:
        text = decode(data)
    except NotTextError as error:
        raise _not_text(name, len(data), str(error)) from None
    no_range = arguments.get("offset") is None and arguments.get("limit") is None
    if no_range and inside(str(path), context.real_root) and count_lines(to_lf(text.content)) > LONG:
        return _long(context, path, name, data, text)
    return _whole(context, path, name, data, text, first=first, limit=limit)


def _long(context: Context, path: Path, name: str, data: bytes, text: Text) -> ToolOutcome:
    """The outline, else the first lines: the whole text would stay in the conversation and be sent with each turn."""

    lf = to_lf(text.content)
    lines = split_lines(lf)
    entries = outline(name, lines)
    if len(entries) < _FEWEST:
        return _whole(context, path, name, data, text, first=1, limit=_HEAD)
    context.records.show(path, sha256(data), (1, 0), len(lines))
    part = f'{view_call(name)[:-1]}, "offset": LINE, "limit": COUNT}}'
    head = (
        f"{name}: {len(lines)} lines. This is only its outline (first and last line of each definition); view the "
        f"parts you need: {part}"
    )
    content = "\n".join([head, *entries])
    return ToolOutcome(
        content, metadata={"path": name, "total": len(lines), "outline": True, "truncated": True}
    )


def _whole(
    context: Context, path: Path, name: str, data: bytes, text: Text, *, first: int, limit: int
) -> ToolOutcome:
    lf = to_lf(text.content)
    window = of_text(lf, first, limit)
    assert window.total is not None
    if first > max(window.total, 1):
        raise ToolFailure(
            f"{name} has only {window.total} lines. Use an offset from 1 to {max(window.total, 1)}."
        )
    context.records.show(path, sha256(data), (first, window.last), window.total)
    notes = [text.encoding.label, line_ends(text.content).label]
    if data and not lf.endswith("\n"):
        notes.append("no line end after the last line")
    return _outcome(name, window, [note for note in notes if note], limit)


def _large(context: Context, fd: int, name: str, size: int, *, first: int, limit: int) -> ToolOutcome:
    """Show a file over `LARGE`: it is read up to the requested lines only."""
    try:
        head = os.pread(fd, SNIFF, 0)
        codec, mark = marked_encoding(head)
        if is_binary(head) or codec != "utf-8":
            raise _not_text(name, size, "it is binary, or too large for its encoding")
        window = of_stream(fd, first, limit, context.cancelled)
    except OSError as error:
        raise failure(error, name) from None
    if not window.lines:
        raise ToolFailure(
            f"{name} ends before line {first}. Use a smaller offset, or look at its end with bash: tail."
        )
    notes = [f"{size} bytes, too large to edit", *(["with byte order mark"] if mark else [])]
    return _outcome(name, window, notes, limit)


def _outcome(name: str, window: Window, notes: list[str], limit: int) -> ToolOutcome:
    """The result names the next call, unless the call set a `limit` and got as many lines."""
    if not window.lines:
        return ToolOutcome(f"{name} is empty.", metadata={"path": name, "total": 0})
    count = f"{window.total} lines" if window.total != 1 else "1 line"
    if window.total is None:
        count = f"lines {window.first}-{window.last}"
    elif len(window.lines) < window.total:
        count = f"lines {window.first}-{window.last} of {window.total}"
    tail = ""
    if window.cut:
        lines = "1 long line was" if window.cut == 1 else f"{window.cut} long lines were"
        more = f"cut -c {MAX_LINE + 1}-{2 * MAX_LINE}"  # bash shows no longer lines either
        tail += f"[{lines} cut; bash shows more: sed -n LINEp FILE | {more}]\n"
    chosen_here = limit in (_HEAD, MAX_LINES)
    if window.more and (window.total is None or chosen_here or len(window.lines) != limit):
        tail += f"[to go on: {view_call(name, window.last + 1)}]\n"
    # The model knows the file's name from the call; for a part of the file only the lines are new.
    head = count if count.startswith("lines") else f"{name}: {count}"
    content = f"{', '.join([head, *notes])}\n{window.numbered()}{tail}"
    metadata = {"path": name, "first": window.first, "last": window.last, "total": window.total}
    return ToolOutcome(content.removesuffix("\n"), metadata={**metadata, "truncated": window.more})


def _not_text(name: str, size: int, reason: str) -> ToolFailure:
    return ToolFailure(
        f"{name} ({size} bytes) cannot be shown: {reason}. Look at it with bash: file, xxd, strings."
    )


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
    definitions = _python(lines) if name.endswith((".py", ".pyi")) else None
    if definitions is None:
        definitions = _by_pattern(PurePosixPath(name).suffix.lower(), lines)
    while len(definitions) > _MOST and (deepest := max(definition.depth for definition in definitions)):
        definitions = [definition for definition in definitions if definition.depth < deepest]
    entries = [
        f"{definition.first}-{definition.last} {'  ' * definition.depth}{definition.text[:_LONGEST]}"
        for definition in definitions[:_MOST]
    ]
    return entries + ([f"[{len(definitions) - _MOST} more]"] if len(definitions) > _MOST else [])


def _python(lines: Sequence[str]) -> list[Definition] | None:
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


def _by_pattern(suffix: str, lines: Sequence[str]) -> list[Definition]:
    """Each ends before the next one that is not indented deeper; headings before the next that is not smaller."""
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
    definitions: list[Definition] = []
    open_ones: list[tuple[int, int]] = []
    for number, indent, text in starts:
        while open_ones and open_ones[-1][0] >= indent:
            index = open_ones.pop()[1]
            definitions[index] = definitions[index]._replace(last=number - 1)
        definitions.append(Definition(number, len(lines), len(open_ones), text))
        open_ones.append((indent, len(definitions) - 1))
    return definitions

"""One problem of a checker in the form for the supervisor: bounded, on one line, with a path inside the
repository."""

import json
import os
import posixpath
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache, partial

from bot.contracts.plain_text import printable
from bot.contracts.regular_files import read_regular
from bot.ecosystems.checker import Find, FormError

MOST = 20_000
"""Problems of one run of one checker; more are not compared."""

MOST_BYTES = 12_000_000
_LONGEST_PATH, _LONGEST_CODE, _LONGEST_MESSAGE, _LONGEST_SNIPPET = 500, 80, 300, 160
_HIGHEST = 100_000_000
_MAX_COLUMN = 10_000
"""Characters of a line that are counted: more would take seconds for many problems."""
_LARGEST_SOURCE = 2_000_000

Row = list[object]
"""`path`, `line`, `column`, `severity`, `code`, `message`, `snippet`."""


def rows(finds: Iterable[Find], root: str, unit: str = "", folder: str = "") -> tuple[list[Row], int]:
    """The problems in files beneath `root`, and how many there are in files outside. `unit` is what columns count if it
    is not code points: utf-8 or utf-16. `folder`, relative to `root`, is the one that the checker ran in; its paths are
    relative to it. Raises `FormError` if there are too many to list."""
    read = lru_cache(maxsize=1)(partial(_read_lines, os.path.realpath(root)))
    rows_so_far: list[Row] = []
    outside = size = 0
    for find in finds:
        path = _inside(find.path, root, folder)
        if path is None:
            outside += 1
            continue
        line, lines = _number(find.line), read(path)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        column = code_points(text, _number(find.column), unit)
        message = one_line(find.message, _LONGEST_MESSAGE, root)
        code = one_line(find.code, _LONGEST_CODE)
        snippet = one_line(text, _LONGEST_SNIPPET)
        row: Row = [path, line, column, find.severity, code, message, snippet]
        size += len(json.dumps(row))
        if len(rows_so_far) == MOST or size > MOST_BYTES:
            raise FormError("it reported more problems than can be compared")
        rows_so_far.append(row)
    return rows_so_far, outside


def one_line(text: object, longest: int, root: str = "") -> str:
    """The first line of `text` that is not blank, without unprintable characters, which include marks of the writing
    direction, and without the path of `root`, which differs before and after the change; empty for what is no text."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text) if abs(text) <= _HIGHEST else ""
    if not isinstance(text, str):
        return ""
    lines = (" ".join(printable(line).split()) for line in text[: 20 * longest].splitlines())
    line = "".join(letter for letter in next(filter(None, lines), "") if letter.isprintable())
    if root:
        line = line.replace(f"{root}/", "").replace(root, ".")
    return line[:longest].rstrip()


def _inside(path: object, root: str, folder: str) -> str | None:
    """The path relative to `root`; `None` if it is not the path of a file in it."""
    if not isinstance(path, str) or not path or len(path) > _LONGEST_PATH or not path.isprintable():
        return None
    for prefix in dict.fromkeys((root, os.path.realpath(root))):
        if path.startswith(f"{prefix}/"):
            path = path[len(prefix) + 1 :]
            break
    else:
        path = posixpath.join(folder, path)
    path = posixpath.normpath(path)
    outside = path.startswith(("/", "../", ".git/")) or path in (".", "..", ".git")
    return None if outside else path


def _number(value: object) -> int:
    """A line or column; 0 for an invalid value."""
    return value if type(value) is int and 0 < value <= _HIGHEST else 0


def code_points(text: str, column: int, unit: str) -> int:
    """A column that counts `unit`s, from 1, as one that counts characters. One within a character is rounded down."""
    if not column or not unit or text.isascii():
        return column
    encoding, width = ("utf-16-le", 2) if unit == "utf-16" else ("utf-8", 1)
    before = text[:_MAX_COLUMN].encode(encoding, "replace")[: (column - 1) * width]
    return len(before.decode(encoding, "ignore")) + 1


def _read_lines(root: str, path: str) -> list[str]:
    """The lines of a file of the repository; none of a large one or one behind a link that leads out."""
    real = os.path.realpath(os.path.join(root, path))
    with suppress(OSError):
        if (
            real.startswith(f"{root}/")
            and len(content := read_regular(real, _LARGEST_SOURCE + 1)) <= _LARGEST_SOURCE
        ):
            return content.decode("utf-8", "replace").split("\n")
    return []

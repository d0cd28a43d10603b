"""`view`: the lines of a text file, numbered, or of a long one its outline. What it shows may be edited afterwards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import arguments as given
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.files import LARGE, opened, read_all, sha256
from bot.workshop.host.paths import failure, inside, relative, resolve_readable
from bot.workshop.host.shown import LONG, view_call
from bot.workshop.host.specs import MAX_LINES
from bot.workshop.host.text import (
    SNIFF,
    NotTextError,
    Text,
    count_lines,
    decode,
    is_binary,
    line_ends,
    sniff,
    split_lines,
    to_lf,
)
from bot.workshop.host.window import MAX_LINE, Window, of_stream, of_text

_HEAD = 200
"""Lines shown of a long file without an outline: data, a log, prose."""

_FEWEST = 3
"""Definitions that make an outline."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    asked = given.text(arguments, "path")
    first = given.integer(arguments, "offset", 1, 1, 1 << 40)
    limit = given.integer(arguments, "limit", MAX_LINES, 1, MAX_LINES)
    path = resolve_readable(context, asked)
    name = relative(context, path)
    with opened(context, path, asked) as (fd, status):
        if status.st_size > LARGE:
            return _large(context, fd, name, status.st_size, first, limit)
        data = read_all(fd, name)
    try:
        text = decode(data)
    except NotTextError as error:
        raise _not_text(name, len(data), str(error)) from None
    no_range = arguments.get("offset") is None and arguments.get("limit") is None
    if no_range and inside(str(path), context.real_root) and count_lines(to_lf(text.content)) > LONG:
        return _long(context, path, name, data, text)
    return _whole(context, path, name, data, text, first, limit)


def _long(context: Context, path: Path, name: str, data: bytes, text: Text) -> ToolOutcome:
    """The outline, else the first lines: the whole of it would stay in the conversation and be sent with each turn."""
    from bot.workshop.host.outline import outline  # only long files pay for it

    lf = to_lf(text.content)
    lines = split_lines(lf)
    found = outline(name, lines)
    if len(found) < _FEWEST:
        return _whole(context, path, name, data, text, 1, _HEAD)
    context.records.show(path, sha256(data), lf, ())
    part = f'{view_call(name)[:-1]}, "offset": LINE, "limit": COUNT}}'
    head = (
        f"{name}: {len(lines)} lines. This is only its outline (first and last line of each definition); view the "
        f"parts you need: {part}"
    )
    content = "\n".join([head, *found])
    return ToolOutcome(
        content, metadata={"path": name, "total": len(lines), "outline": True, "truncated": True}
    )


def _whole(
    context: Context, path: Path, name: str, data: bytes, text: Text, first: int, limit: int
) -> ToolOutcome:
    lf = to_lf(text.content)
    window = of_text(lf, first, limit)
    assert window.total is not None
    if first > max(window.total, 1):
        raise ToolFailure(
            f"{name} has only {window.total} lines. Use an offset from 1 to {max(window.total, 1)}."
        )
    context.records.show(path, sha256(data), lf, ((first, window.last),))
    notes = [text.encoding.label, line_ends(text.content).label]
    if data and not lf.endswith("\n"):
        notes.append("no line end after the last line")
    return _outcome(name, window, [note for note in notes if note], limit)


def _large(context: Context, fd: int, name: str, size: int, first: int, limit: int) -> ToolOutcome:
    """A file over `LARGE`: read up to the lines asked for, and no further."""
    try:
        head = os.pread(fd, SNIFF, 0)
        codec, mark = sniff(head)
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
    """Says how to go on, unless the call got as many lines as its own `limit`: it knows."""
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
    # The call names the file; of a part only the lines are news.
    head = count if count.startswith("lines") else f"{name}: {count}"
    content = f"{', '.join([head, *notes])}\n{window.numbered()}{tail}"
    metadata = {"path": name, "first": window.first, "last": window.last, "total": window.total}
    return ToolOutcome(content.removesuffix("\n"), metadata={**metadata, "truncated": window.more})


def _not_text(name: str, size: int, reason: str) -> ToolFailure:
    return ToolFailure(
        f"{name} ({size} bytes) cannot be shown: {reason}. Look at it with bash: file, xxd, strings."
    )

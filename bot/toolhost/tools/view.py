"""`view`: the lines of a text file, numbered, or of a long one its outline. What it shows may be edited afterwards."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from bot.contracts.tool_limits import MAX_LINE, MAX_LINES
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.ecosystems.registry import ecosystems
from bot.toolhost.context import Context
from bot.toolhost.encoding import encoding_label, line_ends_label, split_lines
from bot.toolhost.files import LoadedFile, inside, load, resolve_readable, view_call

LONG = 600
"""Lines: a view of a longer file shows the outline, unless it asks for a range."""

_HEAD = 200
"""Lines shown of a long file without an outline: data, a log, prose."""

_MOST_ABOVE = 60
"""Lines above the first definition, such as imports, that come with an outline."""

_FEWEST = 3
"""Definitions that make an outline."""


def run(context: Context, path: str, offset: int | None = None, limit: int | None = None) -> ToolOutcome:
    file = load(context, resolve_readable(context, path), path)
    no_range = offset is None and limit is None
    if no_range and inside(str(file.path), context.real_root) and len(split_lines(file.lf)) > LONG:
        return _long(context, file)
    most = MAX_LINES if limit is None else min(max(limit, 1), MAX_LINES)
    return _whole(context, file, first=max(offset or 1, 1), limit=most)


def _long(context: Context, file: LoadedFile) -> ToolOutcome:
    """The outline, else the first lines: the whole text would stay in the conversation and be sent with each turn."""

    lines = split_lines(file.lf)
    entries = outline(file.name, lines)
    if len(entries) < _FEWEST:
        return _whole(context, file, first=1, limit=_HEAD)
    top = min(int(entries[0].partition("-")[0]) - 1, _MOST_ABOVE)
    above = [f"{number}|{line[:MAX_LINE]}" for number, line in enumerate(lines[:top], start=1)]
    context.records.show(file.path, file.sha256)
    part = f'{view_call(file.name)[:-1]}, "offset": LINE, "limit": COUNT}}'
    head = (
        f"{file.name}: {len(lines)} lines. This is only its outline (first and last line of each definition), after "
        f"what stands above it; view the parts you need: {part}"
    )
    content = "\n".join([head, *above, *entries])
    return ToolOutcome(content, metadata={"path": file.name})


def _whole(context: Context, file: LoadedFile, *, first: int, limit: int) -> ToolOutcome:
    name, (shown, total, cut) = file.name, window_of(file.lf, first, limit)
    if first > max(total, 1):
        raise ToolFailure(f"{name} has only {total} lines. Use an offset from 1 to {max(total, 1)}.")
    context.records.show(file.path, file.sha256)
    if not shown:
        return ToolOutcome(f"{name} is empty.", metadata={"path": name})
    last = first + len(shown) - 1
    # The model knows the file's name from the call; for a part of the file only the lines are new.
    head = f"{name}: 1 line" if total == 1 else f"{name}: {total} lines"
    if len(shown) < total:
        head = f"lines {first}-{last} of {total}"
    notes = [head, encoding_label(file.text), line_ends_label(file.text.content)]
    if not file.lf.endswith("\n"):
        notes.append("no line end after the last line")
    tail = ""
    if cut:
        lines = "1 long line was" if cut == 1 else f"{cut} long lines were"
        more = f"cut -c {MAX_LINE + 1}-{2 * MAX_LINE}"  # bash shows no longer lines either
        tail += f"[{lines} cut; bash shows more: sed -n LINEp FILE | {more}]\n"
    # Not if the call set a `limit` and got as many lines.
    if last < total and (limit in (_HEAD, MAX_LINES) or len(shown) != limit):
        tail += f"[to go on: {view_call(name, last + 1)}]\n"
    numbered = "".join(f"{number}|{line}\n" for number, line in enumerate(shown, first))
    content = f"{', '.join(filter(None, notes))}\n{numbered}{tail}"
    return ToolOutcome(content.removesuffix("\n"), metadata={"path": name})


MAX_BYTES = 50 * 1024


def window_of(lf: str, first: int, limit: int) -> tuple[list[str], int, int]:
    """Up to `limit` lines of LF text without their ends, up to `MAX_BYTES`; the first line always fits. `first` is
    1-based. Also the number of all lines, and of those that were shortened."""
    every = split_lines(lf)
    taken: list[str] = []
    size = cut = 0
    for line in every[first - 1 : first - 1 + limit]:
        short = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}[line goes on]"
        size += len(short.encode("utf-8", "replace")) + len(str(first + len(taken))) + 2
        if taken and size > MAX_BYTES:
            break
        cut += short is not line
        taken.append(short)
    return taken, len(every), cut


_MOST = 200
_LONGEST = 120
_LONGEST_LINE = 300


def outline(name: str, lines: Sequence[str]) -> list[str]:
    """A line for each definition, `12-40 class A`; none for a file whose kind has no definitions."""
    suffix = PurePosixPath(name).suffix.lower()
    pattern = next((one.outline[suffix] for one in ecosystems() if suffix in one.outline), None)
    definitions = _definitions(pattern, lines) if pattern else []
    while len(definitions) > _MOST and (deepest := max(depth for _, _, depth in definitions)):
        definitions = [one for one in definitions if one[2] < deepest]
    entries = [
        f"{first}-{last} {'  ' * depth}{lines[first - 1].strip()[:_LONGEST]}"
        for first, last, depth in definitions[:_MOST]
    ]
    return entries + ([f"[{len(definitions) - _MOST} more]"] if len(definitions) > _MOST else [])


def _definitions(pattern: str, lines: Sequence[str]) -> list[tuple[int, int, int]]:
    """The first and last line of each definition, from 1, and the number of those that it lies in. It begins where the
    pattern matches, and ends before the next one that is not indented deeper."""
    begins = re.compile(pattern).match
    ends: dict[int, tuple[int, int]] = {}
    open_ones: list[tuple[int, int]] = []
    for number, line in enumerate(lines, start=1):
        if len(line) > _LONGEST_LINE or not begins(line):
            continue
        expanded = line.expandtabs(4)
        indent = len(expanded) - len(expanded.lstrip())
        while open_ones and open_ones[-1][0] >= indent:
            first = open_ones.pop()[1]
            ends[first] = number - 1, ends[first][1]
        ends[number] = len(lines), len(open_ones)
        open_ones.append((indent, number))
    return [(first, last, depth) for first, (last, depth) in ends.items()]

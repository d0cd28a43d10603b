"""`patch`: add, change, move and delete several files in one call, all or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context, text_argument
from bot.toolhost.diff import Block, compare
from bot.toolhost.patch.grammar import parse
from bot.toolhost.patch.overlay import plan
from bot.toolhost.text import to_lf
from bot.toolhost.write_changes import Change, commit

_RANGES = 4
"""Places of one file that the result names."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    operations = parse(text_argument(arguments, "patch"))
    planned = plan(context, operations)
    done = commit(context, "patch", planned.changes)
    additions = sum(file["additions"] for file in done.files)
    removals = sum(file["removals"] for file in done.files)
    files = list(zip(_listed(done.files), planned.changes, strict=True))
    named = [_line(*one) for one in files]
    if len(named) == 1:
        head, named = f"Patched: {named[0]}", []
    else:
        head = f"Patched {len(named)} files (+{additions} -{removals})."
    lines = [*named, *planned.notes]
    metadata: dict[str, Any] = {"additions": additions, "removals": removals, "files": list(done.files)}
    rest = [line for line in (*lines, done.note) if line]
    return ToolOutcome("\n".join([head, *rest]), metadata=metadata)


def _listed(files: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [file for file in files if "moved_to" not in file]


def _line(file: Mapping[str, Any], change: Change) -> str:
    counts = f"(+{file['additions']} -{file['removals']})"
    if file["after_hash"] is None:
        return f"D {file['path']} {counts}"
    ranges = [f"{first}-{last}" if first < last else f"{first}" for first, last in _ranges(change)]
    at = f" at line {', '.join(ranges)}" if ranges else ""
    if len(ranges) > _RANGES:
        at = f" at {len(ranges)} places in {ranges[0].partition('-')[0]}-{ranges[-1].rpartition('-')[2]}"
    if "moved_from" in file:
        return f"R {file['moved_from']} -> {file['path']} {counts}{at}"
    return f"{'A' if file['created'] else 'M'} {file['path']} {counts}{at}"


def _ranges(change: Change) -> Iterator[tuple[int, int]]:
    """First and last changed line of each place in the file as it is now; none for a new file."""
    for _, _, first, last in _blocks(change):
        yield first + 1, max(first + 1, last)


def _blocks(change: Change) -> Sequence[Block]:
    before = change.before or change.source
    if before is None or change.after is None:
        return ()
    return compare(before.lf, to_lf(change.after.content), "").blocks

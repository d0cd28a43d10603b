"""`patch`: add, change, move and delete several files in one call, all or none."""

from collections.abc import Mapping
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.patch.grammar import parse
from bot.toolhost.patch.overlay import plan
from bot.toolhost.write_changes import commit


def run(context: Context, patch: str) -> ToolOutcome:
    changes, notes = plan(context, parse(patch))
    files = commit(context, "patch", changes)
    additions = sum(file["additions"] for file in files)
    removals = sum(file["removals"] for file in files)
    named = [_line(file) for file in files if "moved_to" not in file]
    if len(named) == 1:
        head, named = f"Patched: {named[0]}", []
    else:
        head = f"Patched {len(named)} files (+{additions} -{removals})."
    metadata: dict[str, Any] = {"additions": additions, "removals": removals, "files": list(files)}
    return ToolOutcome("\n".join([head, *named, *notes]), metadata=metadata)


def _line(file: Mapping[str, Any]) -> str:
    counts = f"(+{file['additions']} -{file['removals']})"
    if file["after_hash"] is None:
        return f"D {file['path']} {counts}"
    if "moved_from" in file:
        return f"R {file['moved_from']} -> {file['path']} {counts}"
    return f"{'A' if file['created'] else 'M'} {file['path']} {counts}"

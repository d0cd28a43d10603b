"""A file is changed only where it is byte for byte what the model was shown: the checks, and the call that mends it."""

from __future__ import annotations

import json
from typing import Any

from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.files import Loaded
from bot.workshop.host.records import changed_lines


def require_shown(context: Context, file: Loaded) -> None:
    """Raise `ToolFailure` unless the file is byte for byte what the model was last shown of it."""
    if context.assume_read:
        return
    record = context.records.get(file.path)
    if record is None:
        raise ToolFailure(
            f"{file.name} was not viewed yet. Call {view_call(file.name)}, then send this again."
        )
    if record.sha256 == file.sha256:
        return
    moved = changed_lines(record, file.lf)
    if moved is None:
        raise ToolFailure(f"{file.name} changed since it was viewed. Call {view_call(file.name)} again.")
    first, last = moved
    where = f"line {first}" if last <= first else f"lines {first}-{last}"
    call = view_call(file.name, first, max(1, last - first + 1))
    raise ToolFailure(
        f"{file.name} changed since it was viewed ({where}). Call {call}, then send this again if it still fits."
    )


def require_lines_shown(context: Context, file: Loaded, first: int, last: int) -> None:
    """Of a file that was shown in part, only that part may change."""
    record = context.records.get(file.path)
    if context.assume_read or record is None or record.covers(first, last):
        return
    where = f"Line {first}" if first == last else f"Lines {first}-{last}"
    call = view_call(file.name, max(1, first - 3), last - first + 7)
    raise ToolFailure(
        f"{where} of {file.name} would change but were not viewed. Call {call}, then send this again."
    )


def require_all_shown(context: Context, file: Loaded) -> None:
    record = context.records.get(file.path)
    if context.assume_read or record is None or record.complete:
        return
    raise ToolFailure(
        f"Only part of {file.name} was viewed, and all of it would be replaced. Call "
        f"{view_call(file.name, record.first_gap)} first, or change a part with edit."
    )


def view_call(name: str, offset: int = 1, limit: int = 0) -> str:
    """The call to `view` that the model should make next, ready to copy."""
    arguments: dict[str, Any] = {"path": name}
    if offset > 1 or limit:
        arguments["offset"] = offset
    if limit:
        arguments["limit"] = limit
    return f"view {json.dumps(arguments, ensure_ascii=False)}"

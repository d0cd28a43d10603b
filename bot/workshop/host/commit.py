"""The one way a tool changes a file: diff, question, second look, atomic write, record.

Nothing is written, no folder made, before the answer; and if the file changed while somebody thought about the
answer, nothing is written at all.
"""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.workshop.host import writing
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.diff import Diff, compare
from bot.workshop.host.files import LARGE, Loaded, opened, read_all, sha256
from bot.workshop.host.paths import failure, relative, resolve
from bot.workshop.host.records import changed_lines
from bot.workshop.host.text import NotEncodableError, Text, encode, to_lf


@dataclass(frozen=True, slots=True)
class Change:
    """`before` is `None` for a file that is to be created. `lines` are those of the new text that changed."""

    path: Path
    before: Loaded | None
    after: Text
    lines: tuple[int, int]


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


def view_call(name: str, offset: int = 1, limit: int = 0) -> str:
    """The call to `view` that the model should make next, ready to copy."""
    arguments: dict[str, Any] = {"path": name}
    if offset > 1 or limit:
        arguments["offset"] = offset
    if limit:
        arguments["limit"] = limit
    return f"view {json.dumps(arguments, ensure_ascii=False)}"


def commit(context: Context, tool: str, change: Change) -> dict[str, Any]:
    """Make the change and return the result's metadata. Raises `ToolFailure` with the file as it was."""
    name = relative(context, change.path)
    if ".git" in (part.lower() for part in Path(name).parts):
        raise ToolFailure(f"{name} belongs to git itself and is never edited. Use git through bash.")
    before = change.before
    data = _encoded(change, name)
    diff = compare(before.text.content if before else "", change.after.content, name, created=before is None)
    _ask(context, tool, name, "change" if before else "create", diff)
    _check_unmoved(context, change, name)
    try:
        if before is None:
            writing.create(change.path, data)
        else:
            writing.replace(change.path, data)
    except FileExistsError:
        raise ToolFailure(f"{name} appeared meanwhile. Call {view_call(name)}, then decide again.") from None
    except OSError as error:
        raise _unwritten(error, name, existed=before is not None) from None
    after_hash = sha256(data)
    context.records.wrote(change.path, after_hash, to_lf(change.after.content), change.lines)
    return _metadata(name, diff, before, after_hash)


def _encoded(change: Change, name: str) -> bytes:
    try:
        data = encode(change.after, change.before.text.content if change.before else "")
    except NotEncodableError as error:
        raise ToolFailure(f"{name}: {error}. Write it with other characters, or use bash.") from None
    if len(data) > LARGE:
        raise ToolFailure(f"{name} would have {len(data)} bytes; the limit is {LARGE}. Use bash.")
    return data


def _ask(context: Context, tool: str, name: str, action: str, diff: Diff) -> None:
    answer = context.ask(tool, name, action, diff.text)
    if not answer.allow:
        raise ToolFailure(
            answer.reason or f"The permission to {action} {name} was denied. Do it another way."
        )
    if context.cancelled.is_set():
        raise ToolFailure(f"Cancelled; {name} was not written.")


def _check_unmoved(context: Context, change: Change, name: str) -> None:
    """The same path must still lead to the same bytes: an answer can take minutes."""
    if resolve(context, str(change.path)) != change.path:
        raise ToolFailure(f"{name} became a link meanwhile; nothing was written. Look at it with ls.")
    if change.before is None:
        return  # creation fails by itself where something exists
    with opened(context, change.path, name) as (fd, _):
        if read_all(fd, name) != change.before.data:
            raise ToolFailure(f"{name} changed meanwhile; nothing was written. Call {view_call(name)} again.")


def _unwritten(error: OSError, name: str, *, existed: bool) -> ToolFailure:
    state = f"{name} is as it was" if existed else f"{name} was not created"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ToolFailure(
            f"The disk is full; {state}. Delete files that are not needed, then send this again."
        )
    if error.errno == errno.EFBIG:
        return ToolFailure(f"The file would be over the size limit of this system; {state}. Write less.")
    refused = failure(error, name)
    return ToolFailure(f"{refused} Nothing was written: {state}.")


def _metadata(name: str, diff: Diff, before: Loaded | None, after_hash: str) -> dict[str, Any]:
    return {
        "path": name,
        "diff": diff.text,
        "additions": diff.additions,
        "removals": diff.removals,
        "before_hash": before.sha256 if before else None,
        "after_hash": after_hash,
        "created": before is None,
    }

"""Write the changes of a tool call: diffs, one permission question for all files, a check that no file changed since,
then all files or none.

Nothing is written and no folder made before the answer. If a file changed in the meantime, nothing is written.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bot.contracts.tools import ToolFailure
from bot.toolhost.context import Context
from bot.toolhost.diff import MAX_TEXT, Diff, compare
from bot.toolhost.files import LARGE, LoadedFile, failure, read, relative, resolve, view_call
from bot.toolhost.text import NotEncodableError, Text, encode, sha256
from bot.toolhost.transaction import Step, StepFailed, apply_steps


class Change(NamedTuple):
    """One file. `before` is `None` if it is to be created, `after` if it is to be deleted. A move is two changes: the
    new file with the old one as `source`, and the old one with the new name as `moved_to`."""

    path: Path
    before: LoadedFile | None
    after: Text | None
    source: LoadedFile | None = None
    moved_to: str = ""


class _Proposal(NamedTuple):
    change: Change
    name: str
    data: bytes | None
    diff: Diff
    mode: int | None

    @property
    def action(self) -> str:
        if self.data is None:
            return "delete"
        return "change" if self.change.before else "create"


def commit(context: Context, tool: str, changes: Sequence[Change]) -> tuple[dict[str, Any], ...]:
    """Make all the changes; return the metadata of each file. Raises `ToolFailure` with every file as it was."""
    # The diffs of one call are sent in one frame.
    proposals = [_propose(context, change, MAX_TEXT // len(changes)) for change in changes]
    _ask(context, tool, proposals)
    for proposal in proposals:
        _check_unmoved(context, proposal)
    _write(context, proposals)
    return tuple(_record_change(context, proposal) for proposal in proposals)


def _propose(context: Context, change: Change, most: int) -> _Proposal:
    name = relative(context, change.path)
    if ".git" in (part.lower() for part in Path(name).parts):
        raise ToolFailure(f"{name} belongs to git itself and is never edited. Use git through bash.")
    before, after = change.before or change.source, change.after
    data = None if after is None else _encoded(after, before, name)
    diff = compare(
        before.text.content if before else "",
        after.content if after else "",
        name,
        created=before is None,
        deleted=after is None,
        source=change.source.name if change.source else "",
    )
    mode = stat.S_IMODE(os.lstat(before.path).st_mode) if before else None
    return _Proposal(change, name, data, Diff("", 0, 0) if change.moved_to else diff.cut(most), mode)


def _encoded(after: Text, before: LoadedFile | None, name: str) -> bytes:
    try:
        data = encode(after, before.text.content if before else "")
    except NotEncodableError as error:
        raise ToolFailure(f"{name}: {error}. Write it with other characters, or use bash.") from None
    if len(data) > LARGE:
        raise ToolFailure(f"{name} would have {len(data)} bytes; the limit is {LARGE}. Use bash.")
    return data


def _ask(context: Context, tool: str, proposals: Sequence[_Proposal]) -> None:
    files = [(proposal.name, proposal.action) for proposal in proposals]
    answer = context.ask(tool, files, "".join(proposal.diff.text for proposal in proposals))
    names = _list_names([name for name, _ in files])
    if not answer.allow:
        action = files[0][1] if len(files) == 1 else "change"
        raise ToolFailure(
            answer.reason or f"The permission to {action} {names} was denied. Do it another way."
        )
    if context.cancelled.is_set():
        raise ToolFailure(f"Cancelled; {names} {'was' if len(files) == 1 else 'were'} not written.")


def _check_unmoved(context: Context, proposal: _Proposal) -> None:
    """The same path must still lead to the same bytes: an answer can take minutes."""
    change = proposal.change
    if resolve(context, str(change.path)) != change.path:
        raise ToolFailure(
            f"{proposal.name} became a link meanwhile; nothing was written. Look at it with ls."
        )
    # If there is nothing yet, creation fails by itself if something appeared.
    if change.before and read(context, change.path, proposal.name) != change.before.data:
        raise ToolFailure(
            f"{proposal.name} changed meanwhile; nothing was written. Call {view_call(proposal.name)} again."
        )


def _write(context: Context, proposals: Sequence[_Proposal]) -> None:
    steps = [
        Step(one.change.path, one.change.before.data if one.change.before else None, one.data, one.mode)
        for one in proposals
    ]
    try:
        apply_steps(steps)
    except StepFailed as failed:
        raise _write_error(context, failed, steps) from None


def _write_error(context: Context, failed: StepFailed, steps: Sequence[Step]) -> ToolFailure:
    name, error = relative(context, failed.path), failed.error
    if failed.torn:
        torn = _list_names([relative(context, path) for path in failed.torn])
        return ToolFailure(
            f"{failure(error, name)} {torn} could not be brought back to what it was: look at it."
        )
    if isinstance(error, FileExistsError):
        return ToolFailure(f"{name} appeared meanwhile. Call {view_call(name)}, then decide again.")
    if len(steps) > 1:
        state = f"every file of the {len(steps)} is as it was"
    else:
        state = f"{name} was not created" if steps[0].before is None else f"{name} is as it was"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ToolFailure(
            f"The disk is full; {state}. Delete files that are not needed, then send this again."
        )
    if error.errno == errno.EFBIG:
        return ToolFailure(f"The file would be over the size limit of this system; {state}. Write less.")
    return ToolFailure(f"{failure(error, name)} Nothing was written: {state}.")


def _record_change(context: Context, proposal: _Proposal) -> dict[str, Any]:
    """Record what the model knows of the file now, and return the file's metadata."""
    change, diff = proposal.change, proposal.diff
    digest = None if proposal.data is None else sha256(proposal.data)
    context.originals.setdefault(proposal.name, change.before.data if change.before else None)
    context.records.show(change.path, digest)
    noted = {
        "path": proposal.name,
        "diff": diff.text,
        "additions": diff.additions,
        "removals": diff.removals,
        "before_hash": change.before.sha256 if change.before else None,
        "after_hash": digest,
        "created": change.before is None,
        "mode": _mode(proposal),
    }
    moved = {"moved_from": change.source.name} if change.source else {}
    return noted | moved | ({"moved_to": change.moved_to} if change.moved_to else {})


def _mode(proposal: _Proposal) -> int | None:
    """The permission bits of the file; of a deleted file, those that it had."""
    if proposal.mode is not None or proposal.data is None:
        return proposal.mode
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(proposal.change.path).st_mode)
    return None


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

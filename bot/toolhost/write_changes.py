"""Write the changes of a tool call: diffs, one permission question for all files, a check that no file changed since,
then all files or none.

Nothing is written and no folder made before the answer. If a file changed in the meantime, nothing is written. All new
bytes are written beside their files and then renamed into place, deletions last; the steps before one that fails are
undone. A reader, a crash or a full disk never leaves half a file.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bot.contracts.formatting import first_of
from bot.contracts.regular_files import TO_CREATE
from bot.contracts.tools import ToolFailure
from bot.toolhost.context import Context
from bot.toolhost.diff import MAX_TEXT, Diff, compare
from bot.toolhost.encoding import NotEncodableError, Text, encode, sha256
from bot.toolhost.files import LARGE, LoadedFile, failure, read, relative, resolve, view_call

_MAX_CONTENT = 256 * 1024
"""Characters of all files of one call that are recorded, so that a version of a file can be restored."""


class Change(NamedTuple):
    """One file. `before` is `None` if it is to be created, `after` if it is to be deleted. A move is two changes: the
    new file with the old one as `source`, and the old one with the new name as `moved_to`."""

    path: Path
    before: LoadedFile | None
    after: Text | None
    source: LoadedFile | None = None
    moved_to: str = ""


class _Proposal(NamedTuple):
    name: str
    change: Change
    step: Step
    diff: Diff

    @property
    def action(self) -> str:
        return "delete" if self.step.after is None else "change" if self.change.before else "create"


def commit(context: Context, tool: str, changes: Sequence[Change]) -> tuple[dict[str, Any], ...]:
    """Make all the changes; return the metadata of each file. Raises `ToolFailure` with every file as it was."""
    # The diffs of one call are sent in one frame, and so are the contents.
    proposals = [_propose(context, change, MAX_TEXT // len(changes)) for change in changes]
    _ask(context, tool, proposals)
    # The same path must still lead to the same bytes: an answer can take minutes. Where there was nothing, creation
    # fails by itself if something appeared.
    for name, change, *_ in proposals:
        if resolve(context, str(change.path)) != change.path:
            raise ToolFailure(f"{name} became a link meanwhile; nothing was written. Look at it with ls.")
        if change.before and read(context, change.path, name) != change.before.data:
            raise ToolFailure(f"{name} changed meanwhile; nothing was written. Call {view_call(name)} again.")
    try:
        apply_steps([proposal.step for proposal in proposals])
    except StepFailed as failed:
        raise _write_error(context, failed) from None
    return tuple(_record_change(context, proposal, _MAX_CONTENT // len(changes)) for proposal in proposals)


def _propose(context: Context, change: Change, most: int) -> _Proposal:
    name = relative(context, change.path)
    if ".git" in (part.lower() for part in Path(name).parts):
        raise ToolFailure(f"{name} belongs to git itself and is never edited. Use git through bash.")
    before, after = change.before or change.source, change.after
    old = before.text.content if before else None
    try:
        data = None if after is None else encode(after, old or "")
    except NotEncodableError as error:
        raise ToolFailure(f"{name}: {error}. Write it with other characters, or use bash.") from None
    if data and len(data) > LARGE:
        raise ToolFailure(f"{name} would have {len(data)} bytes; the limit is {LARGE}. Use bash.")
    diff = Diff("", 0, 0)
    if not change.moved_to:
        source = change.source.name if change.source else ""
        diff = compare(old, after.content if after else None, name, source, most)
    mode = stat.S_IMODE(os.lstat(before.path).st_mode) if before else None
    step = Step(change.path, change.before.data if change.before else None, data, mode)
    return _Proposal(name, change, step, diff)


def _ask(context: Context, tool: str, proposals: Sequence[_Proposal]) -> None:
    files = [(one.name, one.action) for one in proposals]
    answer = context.ask(tool, files, "".join(one.diff.text for one in proposals))
    if not answer.allow:
        action = files[0][1] if len(files) == 1 else "change"
        names = first_of([name for name, _ in files], 5)
        raise ToolFailure(
            answer.reason or f"The permission to {action} {names} was denied. Do it another way."
        )
    if context.cancelled.is_set():
        raise ToolFailure("Cancelled; nothing was written.")


def _write_error(context: Context, failed: StepFailed) -> ToolFailure:
    name, error = relative(context, failed.path), failed.error
    if failed.torn:
        torn = first_of([relative(context, path) for path in failed.torn], 5)
        return ToolFailure(
            f"{failure(error, name)} {torn} could not be brought back to what it was: look at it."
        )
    if isinstance(error, FileExistsError):
        return ToolFailure(f"{name} appeared meanwhile. Call {view_call(name)}, then decide again.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ToolFailure(
            "The disk is full; nothing was written. Delete files that are not needed, then send this again."
        )
    if error.errno == errno.EFBIG:
        return ToolFailure(f"{name} would be over the size limit here; nothing was written. Write less.")
    return ToolFailure(f"{failure(error, name)} Nothing was written.")


def _record_change(context: Context, proposal: _Proposal, most: int) -> dict[str, Any]:
    """Record what the model knows of the file now, and return the file's metadata."""
    name, change, step, diff = proposal
    before, digest, mode = change.before, None if step.after is None else sha256(step.after), step.mode
    if mode is None and step.after is not None:  # of a deleted file, it is the one that it had
        with suppress(OSError):
            mode = stat.S_IMODE(os.lstat(change.path).st_mode)
    context.originals.setdefault(name, before.data if before else None)
    context.records.show(change.path, digest)
    noted = {
        "path": name,
        "diff": diff.text,
        "additions": diff.additions,
        "removals": diff.removals,
        "before_hash": before.sha256 if before else None,
        "after_hash": digest,
        "created": before is None,
        "mode": mode,
    }
    if change.after and len(change.after.content) <= most:
        noted["content"] = change.after.content
    if change.source:
        noted["moved_from"] = change.source.name
    if change.moved_to:
        noted["moved_to"] = change.moved_to
    return noted


class Step(NamedTuple):
    """One file. `before` is its bytes now, `None` for absent; `after` what it is to hold, `None` for deleted. `mode`
    is the permission bits that it has or is to have; `None` for what new files get."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


class StepFailed(Exception):
    """The step for `path` failed with `error`. `torn` are files that could not be restored."""

    def __init__(self, path: Path, error: OSError, torn: Sequence[Path]) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error
        self.torn = tuple(torn)


def apply_steps(steps: Sequence[Step]) -> None:
    """Carry out all steps, or none: raises `StepFailed`."""
    ordered = sorted(steps, key=lambda step: step.after is None)  # stable: deletions last, else as they came
    temporaries: list[str] = []
    done: list[Step] = []
    step = ordered[0]
    with ExitStack() as leftovers:
        try:
            for step in ordered:
                temporaries.append(_prepare(step, leftovers))
            for step, temporary in zip(ordered, temporaries, strict=True):
                put(step, temporary)
                done.append(step)
        except OSError as error:
            raise StepFailed(step.path, error, _undo(done)) from None
        except BaseException:
            _undo(done)
            raise


def _prepare(step: Step, leftovers: ExitStack) -> str:
    """Make the missing folders and write the new bytes beside the file; return that file's name. `leftovers` removes
    what is not needed at the end: a folder that is not empty stays."""
    if step.after is None:
        return ""
    for folder in reversed(step.path.parents):
        if not os.path.lexists(folder):
            folder.mkdir()
            leftovers.callback(_remove_if_empty, folder)
    temporary = write_beside(step.path, step.after, step.mode)
    leftovers.callback(Path(temporary).unlink, missing_ok=True)
    return temporary


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def put(step: Step, temporary: str) -> None:
    """Make a step visible. Raises `OSError`, `FileExistsError` where a file to create is there meanwhile."""
    if step.before is None:
        if os.path.lexists(step.path):
            raise FileExistsError(17, "it is there already", str(step.path))
    elif not stat.S_ISREG(os.lstat(step.path).st_mode):
        raise FileNotFoundError(2, "no regular file any more", str(step.path))
    if step.after is None:
        os.unlink(step.path)
    else:
        os.replace(temporary, step.path)


def write_beside(path: Path, data: bytes, mode: int | None) -> str:
    """A new file in the folder of `path` with these bytes; its name. Without a `mode` it gets the one a new file gets
    there."""
    name = f"{path.parent}/.slash-agent-{os.urandom(8).hex()}.tmp"
    fd = os.open(name, TO_CREATE, 0o666)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
    except BaseException:
        os.unlink(name)
        raise
    return name


def _undo(done: Sequence[Step]) -> list[Path]:
    """Undo the steps, the newest first; return the files for which that failed."""
    torn: list[Path] = []
    for step in reversed(done):
        try:
            if step.before is None:
                os.unlink(step.path)
            else:
                os.replace(write_beside(step.path, step.before, step.mode), step.path)
        except OSError:
            torn.append(step.path)
    return torn

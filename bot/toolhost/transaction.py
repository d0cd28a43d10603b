"""Change several files as a whole: prepare everything, then move it into place, deletions last; undo the steps before
one that fails.

A reader, a crash or a full disk never leaves half a file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Step(NamedTuple):
    """One file. `before` is its bytes now, `None` for absent; `after` what it is to hold, `None` for deleted.

    `mode` is the permission bits of a file that is made; `None` for what new files get.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


class Prepared(Protocol):
    """A prepared step. `put` makes it visible, `undo` reverts that; `done` removes temporary files."""

    def put(self) -> None: ...
    def undo(self) -> None: ...
    def done(self) -> None: ...


class FileSystem(Protocol):
    """Carries out steps. All methods raise `OSError`, and then leave the step's file unchanged."""

    def prepare(self, step: Step) -> Prepared: ...


class StepFailed(Exception):
    """The step for `path` failed with `error`. `torn` are files that could not be restored."""

    def __init__(self, path: Path, error: OSError, torn: Sequence[Path]) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error
        self.torn = tuple(torn)


def apply_steps(steps: Sequence[Step], disk: FileSystem) -> None:
    """Carry out all steps, or none: raises `StepFailed`."""
    ordered = sorted(steps, key=lambda step: step.after is None)  # stable: deletions last, else as they came
    ready: list[tuple[Step, Prepared]] = []
    put: list[tuple[Step, Prepared]] = []
    step = ordered[0]
    try:
        for step in ordered:
            ready.append((step, disk.prepare(step)))
        for step, prepared in ready:
            prepared.put()
            put.append((step, prepared))
    except OSError as error:
        raise StepFailed(step.path, error, _undo(put)) from None
    except BaseException:
        _undo(put)
        raise
    finally:
        for _, prepared in reversed(ready):
            prepared.done()


def _undo(put: Sequence[tuple[Step, Prepared]]) -> list[Path]:
    """Undo the steps, the newest first; return the files for which that failed."""
    torn: list[Path] = []
    for step, prepared in reversed(put):
        try:
            prepared.undo()
        except OSError:
            torn.append(step.path)
    return torn


class Disk:
    """The real file system."""

    def prepare(self, step: Step) -> Prepared:
        if step.before is None:
            assert step.after is not None
            return _Created(step.path, step.after, step.mode)
        status = os.lstat(step.path)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(2, "no regular file any more", str(step.path))
        if step.after is None:
            return _Removed(step.path)
        if status.st_nlink > 1:
            return _Overwritten(step.path, step.before, step.after)
        try:
            return _Replaced(step.path, step.before, step.after, status)
        except _OthersFileError:
            return _Overwritten(step.path, step.before, step.after)


class _OthersFileError(Exception):
    """A renamed copy would take the file from its owner."""


class _Created:
    """A new file and its folders. `put` raises `FileExistsError` when something is there."""

    def __init__(self, path: Path, data: bytes, mode: int | None) -> None:
        self._path = path
        self._folders = _make_folders(path.parent)
        self._temporary = ""
        try:
            self._temporary = _temporary(path.parent, data, mode)
        except BaseException:
            self.done()
            raise

    def put(self) -> None:
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links: the check and the rename are then two steps.
            if os.path.lexists(self._path):
                raise FileExistsError(17, "it is there already", str(self._path)) from None
            os.replace(self._temporary, self._path)

    def undo(self) -> None:
        os.unlink(self._path)

    def done(self) -> None:
        _unlink(self._temporary)
        for folder in reversed(self._folders):
            with contextlib.suppress(OSError):  # not empty: what was put is in it, or somebody else's
                folder.rmdir()


class _Replaced:
    """An existing file with new bytes; it keeps its mode."""

    def __init__(self, path: Path, before: bytes, after: bytes, status: os.stat_result) -> None:
        self._path, self._before, self._status = path, before, status
        self._temporary = self._beside(after)

    def put(self) -> None:
        os.replace(self._temporary, self._path)
        self._temporary = ""

    def undo(self) -> None:
        self._temporary = self._beside(self._before)
        self.put()

    def done(self) -> None:
        _unlink(self._temporary)

    def _beside(self, data: bytes) -> str:
        owner = self._status.st_uid, self._status.st_gid
        return _temporary(self._path.parent, data, stat.S_IMODE(self._status.st_mode), owner)


class _Overwritten:
    """A file that has other names (hard links) or another owner, written in place so that it keeps them."""

    def __init__(self, path: Path, before: bytes, after: bytes) -> None:
        self._path, self._before, self._after = path, before, after

    def put(self) -> None:
        _overwrite(self._path, self._after)

    def undo(self) -> None:
        _overwrite(self._path, self._before)

    def done(self) -> None:
        """Nothing lies beside it."""


class _Removed:
    """A deletion: set aside under another name in its folder, gone once everything else is done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._aside = _name_in(path.parent)

    def put(self) -> None:
        os.rename(self._path, self._aside)

    def undo(self) -> None:
        os.rename(self._aside, self._path)

    def done(self) -> None:
        _unlink(self._aside)


def _overwrite(path: Path, data: bytes) -> None:
    """Write in place. The space for a longer file is reserved first, so that a full disk shows before the first byte
    changes; if writing fails even so, the old bytes are restored."""
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        old_size = os.fstat(fd).st_size
        old = os.pread(fd, old_size, 0)
        try:
            if len(data) > old_size:
                os.posix_fallocate(fd, old_size, len(data) - old_size)
            _write(fd, data)
            os.ftruncate(fd, len(data))
        except OSError:
            os.lseek(fd, 0, os.SEEK_SET)
            _write(fd, old)
            os.ftruncate(fd, old_size)
            raise
    finally:
        os.close(fd)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _temporary(folder: Path, data: bytes, mode: int | None, owner: tuple[int, int] | None = None) -> str:
    """A new file in `folder` with these bytes; its name. Without a `mode` it gets the one a new file gets there.
    Raises `_OthersFileError` if it would not be the `owner`'s."""
    name = _name_in(folder)
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        if owner is not None or mode is not None:
            status = os.fstat(fd)
            if owner not in (None, (status.st_uid, status.st_gid)):
                raise _OthersFileError
        _write(fd, data)
        if mode is not None and mode != stat.S_IMODE(status.st_mode):
            os.fchmod(fd, mode)
    except BaseException:
        _unlink(name)
        raise
    finally:
        os.close(fd)
    return name


def _name_in(folder: Path) -> str:
    return f"{folder}/.slash-agent-{os.urandom(8).hex()}.tmp"


def _unlink(name: str) -> None:
    if name:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _make_folders(folder: Path) -> list[Path]:
    """Create the missing folders, all or none; return them from the top."""
    missing: list[Path] = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = folder.parent
    created: list[Path] = []
    try:
        for parent in reversed(missing):
            if os.path.lexists(parent):
                raise NotADirectoryError(20, os.strerror(20), str(parent))
            parent.mkdir()
            created.append(parent)
    except BaseException:
        for parent in reversed(created):
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise
    return created

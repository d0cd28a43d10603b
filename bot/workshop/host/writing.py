"""Bytes onto the disk so that a reader, a crash or a full disk never meets half a file.

Every function leaves the old file as it was when it raises `OSError`.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def create(path: Path, data: bytes) -> None:
    """Make a new file, and its folders. Raises `FileExistsError` when something is there."""
    with _parents(path.parent), _temporary(path.parent) as (fd, temporary):
        _write(fd, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:
            # A file system without hard links: the check and the rename are then two steps.
            if os.path.lexists(path):
                raise FileExistsError(str(path)) from None
            os.replace(temporary, path)


def replace(path: Path, data: bytes) -> None:
    """Give an existing regular file new bytes; it keeps its mode, owner and other names (hard links)."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise FileNotFoundError(2, "no regular file any more", str(path))
    if status.st_nlink > 1:
        _overwrite(path, data)
        return
    with _temporary(path.parent) as (fd, temporary):
        made = os.fstat(fd)
        if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
            _overwrite(path, data)  # a renamed copy would take the file from its owner
            return
        _write(fd, data)
        os.fchmod(fd, stat.S_IMODE(status.st_mode))
        os.replace(temporary, path)


def _overwrite(path: Path, data: bytes) -> None:
    """Write in place. The room for a longer file is reserved first, so that a full disk is met before the first
    byte changes; if writing fails even so, the old bytes are put back."""
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


@contextmanager
def _temporary(folder: Path) -> Iterator[tuple[int, str]]:
    """A new empty file in `folder`, with the mode a new file gets there; gone afterwards unless renamed."""
    name = str(folder / f".slash-agent-{os.urandom(8).hex()}.tmp")
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        yield fd, name
    finally:
        os.close(fd)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


@contextmanager
def _parents(folder: Path) -> Iterator[None]:
    """Make the folders that are missing; take them away again when what follows fails."""
    made: list[Path] = []
    try:
        for parent in reversed((folder, *folder.parents)):
            if not parent.exists():
                parent.mkdir()
                made.append(parent)
        yield
    except BaseException:
        for parent in reversed(made):
            with contextlib.suppress(OSError):  # not empty: somebody else uses it by now
                parent.rmdir()
        raise

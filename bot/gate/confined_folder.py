"""Open untrusted files below a folder: regular files only, without following links.

Each component of a path is opened with O_NOFOLLOW relative to the one before, so that a folder which is swapped for a
link meanwhile does not lead out either.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.contracts.errors import GateError
from bot.gate.errors import capacity_error

_CHUNK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class UnreadableError(GateError):
    """A file that the gate does not read. The message is the reason."""


@contextmanager
def open_confined(folder: Path) -> Iterator[int]:
    """Open a trusted directory, to open paths below it. Raises `UnreadableError` if it is not a directory."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as error:
        raise capacity_error(error) or UnreadableError(
            f"{folder} cannot be opened as a folder: {error.strerror}"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_below(descriptor: int, name: str, flags: int = _FOLDER) -> int:
    """Return a descriptor of `name`, a folder unless `flags` are others, below the folder `descriptor` and on its file
    system. Raises `OSError`: with ELOOP for a link, with EXDEV for a path that leads out."""
    *folders, last = [part for part in name.split("/") if part not in ("", ".")] or ["."]
    if name.startswith("/") or ".." in (*folders, last):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    device = os.fstat(descriptor).st_dev
    here = os.dup(descriptor)
    try:
        for part, how in (*((folder, _FOLDER) for folder in folders), (last, flags)):
            inner = _open(part, how, here)
            os.close(here)
            here = inner
            if os.fstat(here).st_dev != device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    except BaseException:
        os.close(here)
        raise
    return here


def _open(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except NotADirectoryError as error:
        # With O_DIRECTORY and O_NOFOLLOW a link fails with ENOTDIR.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from error
        raise


def read_confined(folder: Path, name: str, limit: int) -> bytes:
    """Return the bytes of the regular file `name` below `folder`.

    Raises `UnreadableError` for a link anywhere in the path, for anything but a regular file, and for a file of more
    than `limit` bytes.
    """
    if "\0" in name or not name or name.endswith("/"):
        raise UnreadableError(f"{name!r} is not a file name")
    with open_confined(folder) as confined:
        try:
            descriptor = open_below(confined, name, _FILE)
        except OSError as error:
            raise UnreadableError(f"{name!r} in {folder} is not read: {_why(error)}") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError(f"{name!r} in {folder} is not a regular file")
            data = read_all(descriptor, limit) if status.st_size <= limit else None
        finally:
            os.close(descriptor)
    if data is None:
        size = f"has {status.st_size} bytes" if status.st_size > limit else "grew while it was read"
        raise UnreadableError(f"{name!r} in {folder} {size}; the limit is {limit}")
    return data


def read_all(descriptor: int, limit: int) -> bytes | None:
    """Return the file up to its end, or `None` if that is more than `limit` bytes."""
    data = bytearray()
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - len(data))):
        data += chunk
        if len(data) > limit:
            return None
    return bytes(data)


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "there is a symbolic link on the way"
    if error.errno == errno.EXDEV:
        return "it leads out of the folder"
    return os.strerror(error.errno or 0)

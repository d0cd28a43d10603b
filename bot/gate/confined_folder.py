"""Open untrusted files below a folder: regular files only, without following links.

`openat2` checks and opens in one step, so there is no race. If the kernel lacks it (before 5.6) or a filter forbids it,
each component of the path is opened with O_NOFOLLOW relative to the one before, which follows no link either.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.contracts.errors import GateError
from bot.gate.errors import capacity_error

# From linux/openat2.h. The number is the same on every architecture (asm-generic/unistd.h).
_SYS_OPENAT2 = 437
_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE = _RESOLVE_NO_XDEV | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH
_NO_OPENAT2 = (errno.ENOSYS, errno.EPERM)
_CHUNK = 1 << 20


class UnreadableError(GateError):
    """A file that the gate does not read. The message is the reason."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class ConfinedFolder:
    """Opens paths below one directory descriptor, which the caller keeps open."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._how_file = _OpenHow(os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, 0, _RESOLVE)
        self._how_folder = _OpenHow(os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW, 0, _RESOLVE)
        self._size = ctypes.sizeof(_OpenHow)

    def open_file(self, name: str) -> int:
        """Return a descriptor of `name`, of any type but a link: call `fstat` before reading. Raises `OSError`."""
        return self._open(name, self._how_file)

    def open_folder(self, name: str) -> int:
        return self._open(name, self._how_folder)

    def _open(self, name: str, how: _OpenHow) -> int:
        path = os.fsencode(name)
        while True:
            descriptor = int(
                self._syscall(
                    _SYS_OPENAT2, self.descriptor, ctypes.c_char_p(path), ctypes.byref(how), self._size
                )
            )
            if descriptor >= 0:
                return descriptor
            number = ctypes.get_errno()
            if number in _NO_OPENAT2 and self._is_missing():
                return open_by_components(self.descriptor, name, how.flags)
            # EAGAIN: a rename happened, and the kernel could not prove that the path stayed below the folder.
            if number not in (errno.EINTR, errno.EAGAIN):
                raise OSError(number, os.strerror(number), name)

    def _is_missing(self) -> bool:
        """Whether the system call is refused, not this path: some filters return EPERM, others ENOSYS."""
        here = self._syscall(
            _SYS_OPENAT2, self.descriptor, ctypes.c_char_p(b"."), ctypes.byref(self._how_folder), self._size
        )
        if here >= 0:
            os.close(int(here))
            return False
        return ctypes.get_errno() in _NO_OPENAT2


def open_by_components(descriptor: int, name: str, flags: int) -> int:
    """Do what `openat2` does, in steps: follow no link, and stay below `descriptor` and on its file system.

    Raises `OSError` with the numbers of `openat2`.
    """
    if name.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    device = os.fstat(descriptor).st_dev
    folder = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    here = os.open(".", folder, dir_fd=descriptor)
    try:
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            try:
                opened_part = os.open(part, flags if is_last else folder, dir_fd=here)
            except OSError as error:
                # With O_DIRECTORY and O_NOFOLLOW a link fails with ENOTDIR.
                link = error.errno == errno.ENOTDIR and stat.S_ISLNK(
                    os.stat(part, dir_fd=here, follow_symlinks=False).st_mode
                )
                number = errno.ELOOP if link else error.errno or errno.EIO
                raise OSError(number, os.strerror(number), name) from error
            os.close(here)
            here = opened_part
            if os.fstat(here).st_dev != device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    except BaseException:
        os.close(here)
        raise
    return here


@contextmanager
def open_confined(folder: Path) -> Iterator[ConfinedFolder]:
    """Open a trusted directory, to open paths below it. Raises `UnreadableError` if it is not a directory."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise capacity_error(error) or UnreadableError(
            f"{folder} cannot be opened as a folder: {error.strerror}"
        ) from error
    try:
        yield ConfinedFolder(descriptor)
    finally:
        os.close(descriptor)


def read_confined(folder: Path, name: str, limit: int) -> bytes:
    """Return the bytes of the regular file `name` below `folder`.

    Raises `UnreadableError` for a link anywhere in the path, for anything but a regular file, and for a file of more
    than `limit` bytes.
    """
    if "\0" in name or not name:
        raise UnreadableError(f"{name!r} is not a file name")
    with open_confined(folder) as confined:
        try:
            descriptor = confined.open_file(name)
        except OSError as error:
            raise UnreadableError(f"{name!r} in {folder} is not read: {_why(error)}") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError(f"{name!r} in {folder} is not a regular file")
            if status.st_size > limit:
                raise UnreadableError(
                    f"{name!r} in {folder} has {status.st_size} bytes; the limit is {limit}"
                )
            data = read_all(descriptor, limit)
        finally:
            os.close(descriptor)
    if data is None:
        raise UnreadableError(f"{name!r} in {folder} grew over the limit of {limit} bytes while it was read")
    return data


def read_all(descriptor: int, limit: int) -> bytes | None:
    """Return the file up to its end, or `None` if that is more than `limit` bytes."""
    chunks: list[bytes] = []
    total = 0
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - total)):
        chunks.append(chunk)
        total += len(chunk)
        if total > limit:
            return None
    return b"".join(chunks) if len(chunks) != 1 else chunks[0]


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "there is a symbolic link on the way"
    if error.errno == errno.EXDEV:
        return "it leads out of the folder"
    return os.strerror(error.errno or 0)

"""Opens untrusted files beneath one folder: regular files only, no link followed.

`openat2` does the refusing, so there is no moment between a check and the opening. Where the kernel lacks it (before
5.6) or a filter forbids it, the path is walked name by name with O_NOFOLLOW from a descriptor to the next, which
follows no link either.
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
    """A file that the gate will not read. The message says why."""


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
        """A descriptor of `name`, whatever its type except a link: `fstat` it before reading. Raises `OSError`."""
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
                return walked(self.descriptor, name, how.flags)
            # EAGAIN: something was renamed meanwhile and the kernel could not prove the path stayed beneath.
            if number not in (errno.EINTR, errno.EAGAIN):
                raise OSError(number, os.strerror(number), name)

    def _is_missing(self) -> bool:
        """Whether it is the call that is refused and not this path: some filters say EPERM where others say ENOSYS."""
        here = self._syscall(
            _SYS_OPENAT2, self.descriptor, ctypes.c_char_p(b"."), ctypes.byref(self._how_folder), self._size
        )
        if here >= 0:
            os.close(int(here))
            return False
        return ctypes.get_errno() in _NO_OPENAT2


def walked(descriptor: int, name: str, flags: int) -> int:
    """What `openat2` does, in steps: no link on the way, nothing above `descriptor`, nothing on another file system.

    Raises `OSError` with the numbers that `openat2` would give.
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
                # O_DIRECTORY with O_NOFOLLOW says of a link that it is no folder.
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
    """A directory of ours, to open paths beneath. Raises `UnreadableError` when it is not one."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableError(f"{folder} cannot be opened as a folder: {error.strerror}") from error
    try:
        yield ConfinedFolder(descriptor)
    finally:
        os.close(descriptor)


def read_confined(folder: Path, name: str, limit: int) -> bytes:
    """The bytes of the regular file `name` below `folder`, at most `limit` of them.

    Raises `UnreadableError` for a link anywhere on the way, for anything but a regular file, and for a file
    over the limit.
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
    """Everything up to the end of the file, or `None` when that is more than `limit` bytes."""
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

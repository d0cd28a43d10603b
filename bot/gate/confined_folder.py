"""Open untrusted files and folders below a folder, without following links.

Each component of a path is opened with O_NOFOLLOW relative to the one before, so that a folder which is swapped for a
link meanwhile does not lead out either.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.contracts.errors import GateError
from bot.contracts.regular_files import FOLDER
from bot.gate.errors import capacity_error

_CHUNK = 1 << 20


@contextmanager
def open_confined(folder: Path) -> Iterator[int]:
    """Open a trusted directory, to open paths below it. Raises `GateError` if it is not a directory."""
    try:
        descriptor = os.open(folder, FOLDER)
    except OSError as error:
        raise capacity_error(error) or GateError(
            f"{folder} cannot be opened as a folder: {error.strerror}"
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_below(descriptor: int, path: str) -> int:
    """Return a descriptor of the folder `path` below the folder `descriptor`, on its file system; the empty path is
    that folder itself. Raises `OSError`: for a link, and with EXDEV for a path that leads out."""
    device = os.fstat(descriptor).st_dev
    here = os.dup(descriptor)
    try:
        for part in path.split("/") if path else ():
            if part in ("", ".", ".."):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
            inner = os.open(part, FOLDER, dir_fd=here)
            os.close(here)
            here = inner
            if os.fstat(here).st_dev != device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    except BaseException:
        os.close(here)
        raise
    return here


def read_all(descriptor: int, limit: int) -> bytes | None:
    """Return the file up to its end, or `None` if that is more than `limit` bytes."""
    data = bytearray()
    while chunk := os.read(descriptor, min(_CHUNK, limit + 1 - len(data))):
        data += chunk
        if len(data) > limit:
            return None
    return bytes(data)

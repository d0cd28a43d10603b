"""Open and read files that another job, a crash or another program may have replaced by something else."""

import errno
import os
import stat
from pathlib import Path

TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags to open a file for reading: not the target of a link, and without waiting for a fifo."""

TO_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def read_regular(path: Path | str, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file. Raises `OSError`, without waiting, for a link, fifo, socket, device
    or folder."""
    try:
        descriptor = os.open(path, TO_READ)
    except OSError as error:
        # A link, or a socket.
        raise _not_regular(path) if error.errno in (errno.ELOOP, errno.ENXIO) else error from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_regular(path)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(descriptor)


def _not_regular(path: Path | str) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", str(path))

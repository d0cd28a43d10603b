"""Read files that another job, a crash or another program may have replaced by something else."""

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path | str, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file. Raises `OSError`, without waiting, for a link, fifo, socket, device
    or folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
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

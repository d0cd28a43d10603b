"""The flag that stops a running tool: a thread sets it, a loop asks it, a `poll` waits on it."""

from __future__ import annotations

import os


class Cancellation:
    """Like `threading.Event`, with a file descriptor that is readable while it is set."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        os.eventfd_write(self._fd, 1)

    def clear(self) -> None:
        self._set = False
        try:
            os.eventfd_read(self._fd)
        except BlockingIOError:
            return  # it was not set

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        os.close(self._fd)

"""The process above the tool host where no namespace ends the others with it: it ends them.

It is outside the host's confinement, so that no command can signal it, reads nothing, and has nothing to say. Every
process that loses its last parent comes to it, and it stays until there is none.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal

TYPE_CHECKING = False  # without importing it: the start waits for this, and `typing` costs 6 ms
if TYPE_CHECKING:
    from typing import NoReturn

_SET_DUMPABLE, _SET_NAME, _SET_CHILD_SUBREAPER = 4, 15, 36


def fork() -> None:
    """Return in a new process; this one stays behind as its guardian and never returns."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the child does not inherit this
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    parent = os.getpid()
    child = os.fork()
    if child:
        libc.prctl(_SET_NAME, ctypes.c_char_p(b"slash-guardian"), 0, 0, 0)
        _guard(child)
    if os.getppid() != parent:
        os._exit(1)  # it was killed already


def _guard(host: int) -> NoReturn:
    try:
        os.close(1)  # the host's end of the pipe is the host's alone
        _wait(host)
    finally:
        _end_all()
        os._exit(0)


def _wait(host: int) -> None:
    """Until the host ends or the supervisor hangs up, be it by dying: nobody else has its end of the pipe."""
    poll = select.poll()
    poll.register(os.pidfd_open(host), select.POLLIN)
    poll.register(0, 0)  # nothing is read here: POLLHUP comes unasked
    poll.poll()


def _end_all() -> None:
    """Kill every child until there is none: what a killed one leaves behind is a child the next time."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for child in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    with open("/proc/thread-self/children", "rb") as listing:
        return [int(pid) for pid in listing.read().split()]

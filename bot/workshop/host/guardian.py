"""The process above the tool host where no namespace ends the others with it: it ends them.

It is outside the host's confinement, so that no command can signal it, reads nothing, and has nothing to say. Every
process that loses its last parent comes to it, and it stays until there is none.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of these: 7 ms of the start
import ctypes
import os
import select

TYPE_CHECKING = False  # without importing it: the start waits for this, and `typing` costs 6 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NAME, _SET_CHILD_SUBREAPER = 1, 4, 15, 36

_OWN_WAY_OUT = 60.0
"""Seconds that the host has to end by itself once nobody can say anything to it any more."""


def fork(*, alone: bool) -> None:
    """Return in a new process; this one stays behind as its guardian and never returns. `alone` is whether the kernel
    lets it signal nobody but what comes from it."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the child does not inherit this
    libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    asked, ask = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    _signal.signal(_signal.SIGTERM, _do_nothing)
    _signal.set_wakeup_fd(ask, warn_on_full_buffer=False)
    libc.prctl(_SET_PDEATHSIG, _signal.SIGTERM, 0, 0, 0)
    parent = os.getpid()
    child = os.fork()
    if child:
        libc.prctl(_SET_NAME, ctypes.c_char_p(b"slash-guardian"), 0, 0, 0)
        _guard(child, asked, alone=alone)
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
    os.close(asked)
    os.close(ask)
    libc.prctl(_SET_PDEATHSIG, _signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it was killed already


def _do_nothing(number: int, frame: object) -> None:
    pass  # the number is in the pipe


def _guard(host: int, asked: int, *, alone: bool) -> NoReturn:
    try:
        os.close(1)  # the host's end of the pipe is the host's alone
        _wait(os.pidfd_open(host), asked)
    finally:
        _end_all(_kill_all_at_once if alone else _kill_children)
        os._exit(0)


def _wait(host: int, asked: int) -> None:
    """Until the host ends, or the supervisor asks for the end of all, or dies. Where it only hangs up the host may end
    by itself."""
    poll = select.poll()
    poll.register(host, select.POLLIN)
    poll.register(asked, select.POLLIN)
    poll.register(0, 0)  # nothing is read here: POLLHUP comes unasked
    if {fd for fd, _ in poll.poll()} == {0}:
        poll.unregister(0)
        poll.poll(_OWN_WAY_OUT * 1000)


def _end_all(kill: Callable[[], None]) -> None:
    """Kill until there is no child: what a killed one leaves behind is a child the next time."""
    try:
        while True:
            kill()
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass  # a bomb leaves thousands of dead behind, and looking at all of them for each takes for ever
    except ChildProcessError:
        return


def _kill_all_at_once() -> None:
    """All that may be signalled, in one call, during which the kernel lets nobody fork: no bomb is faster."""
    _kill(-1)


def _kill_children() -> None:
    for child in _children():
        _kill(child)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, _signal.SIGKILL)
    except ProcessLookupError:
        return


def _children() -> list[int]:
    with open("/proc/thread-self/children", "rb") as listing:
        return [int(pid) for pid in listing.read().split()]

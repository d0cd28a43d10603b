"""A moment in which nothing that came from the tool host runs, so that a bomb can be counted and ended in peace.

Whoever looks at processes one after the other comes too late for those that fork and end meanwhile, or that leave no
time for it. The kernel signals all that a process may signal in one step, in which nobody forks; and where it lets the
host signal nobody but what came from it, that stops this run alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator

_MACHINE = "/proc/loadavg"


def possible() -> bool:
    """Whether the kernel lets this process, which is confined, signal nobody but what comes from it: it is the first of
    its namespace, or may not signal its own parent, which belongs to the same user."""
    parent = os.getppid()
    if os.getpid() == 1 or parent <= 1:
        return os.getpid() == 1
    try:
        os.kill(parent, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def threads() -> int:
    """How many there are on the whole machine, in one reading however many they are; 0 where nobody says."""
    with contextlib.suppress(OSError, ValueError, IndexError), open(_MACHINE, "rb", buffering=0) as file:
        return int(file.read(128).split()[3].partition(b"/")[2])
    return 0


class Standstill:
    """Of all that came from this process. Where it is not `possible`, everything goes on meanwhile."""

    def __init__(self, *, possible: bool) -> None:
        self.possible = possible
        self._lock = threading.RLock()
        self._held = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Have all of it stand still, but for what is killed; what stood still before goes on afterwards as well. One
        thread at a time; within itself it is one."""
        with self._lock:
            self._held += 1
            self._signal(signal.SIGSTOP)
            try:
                yield
            finally:
                self._held -= 1
                if not self._held:
                    self._signal(signal.SIGCONT)

    @contextlib.contextmanager
    def where_asked(self) -> Iterator[Callable[[], None]]:
        """From the first call of what is given on, if there is one."""
        with contextlib.ExitStack() as held:
            yield lambda: held.enter_context(self.held())

    def _signal(self, number: signal.Signals) -> None:
        if self.possible:
            with contextlib.suppress(ProcessLookupError):  # there is nobody
                os.kill(-1, number)

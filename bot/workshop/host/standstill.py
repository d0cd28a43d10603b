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
import time
from collections.abc import Callable, Iterator

from bot.workshop.host import descendants

_MACHINE = "/proc/loadavg"

_SETTLE_LIMIT = 2.0
"""Seconds, fewer than a keeper is given to answer: whatever is told to stand still does so when it would have had its
turn."""

_STUCK_LIMIT = 0.5
"""Seconds for what no signal reaches: most wait with `vfork` for a child that stands still itself."""

_CROWD_SHARE = 8
"""The machine is crowded when it has more threads by one part in so many of the processes that a command may have."""

_STILL = {"T", "t", *descendants.OVER}


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


class Crowd:
    """Whether those on the machine multiply, by parts of the `processes` that a command may have."""

    def __init__(self, processes: int) -> None:
        self._more = processes // _CROWD_SHARE
        self._most = threads()

    def grew(self) -> bool:
        """Whether there are many more threads than ever since this was made or said so: told at once, however many
        there are."""
        there = threads()
        if there - self._most <= self._more:
            return False
        self._most = there
        return True


class Standstill:
    """Of all that came from this process. Where it is not `possible`, everything goes on meanwhile."""

    def __init__(self, *, possible: bool) -> None:
        self.possible = possible
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._wanted = 0

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Have all of it stand still, but for what is killed; what stood still before goes on afterwards as well. One
        thread at a time, and nothing goes on while another waits for it: it might not get that far. Within itself it is
        one."""
        self._wanted_by(+1)
        with self._lock:
            self._signal(signal.SIGSTOP)
            try:
                yield
            finally:
                self._wanted_by(-1)
                self._go_on()

    @contextlib.contextmanager
    def where_asked(self) -> Iterator[Callable[[], None]]:
        """From the first call of what is given on, if there is one."""
        with contextlib.ExitStack() as held:
            yield lambda: held.enter_context(self.held())

    def _go_on(self) -> None:
        try:
            if self.possible:
                self._settle()
        finally:
            if not self._wanted:
                self._signal(signal.SIGCONT)

    def _settle(self) -> None:
        """Until each has come to a stand: the child of one that is in the middle of a fork is still to be stopped by
        what its parent was told, and would not hear that it may go on."""
        began, pause = time.monotonic(), 0.001
        while not self._wanted and (left := _moving()):
            if time.monotonic() - began > (_SETTLE_LIMIT if left - {"D"} else _STUCK_LIMIT):
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
            self._signal(signal.SIGSTOP)  # what this process has started meanwhile, too

    def _wanted_by(self, more: int) -> None:
        with self._counting:
            self._wanted += more

    def _signal(self, number: signal.Signals) -> None:
        if self.possible:
            with contextlib.suppress(ProcessLookupError):  # there is nobody
                os.kill(-1, number)


def _moving() -> set[str]:
    """The states of those that came from this process and neither stand still nor are over."""
    return {descendants.state(pid) for pid in descendants.below(os.getpid())} - _STILL

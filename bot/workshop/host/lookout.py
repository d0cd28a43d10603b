"""Looks after programs that run beside commands. A language server or `cargo check` runs the repository's own code, and
nobody waits for it as for a command.

The kernel keeps their limits but for one, the number of processes: those of all of them together are counted whenever
the machine has many more threads than before.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice

from bot.workshop.host import descendants
from bot.workshop.host.standstill import Crowd, Standstill

PAUSE = 0.1
"""Seconds between two looks at how many threads there are."""

_AT_MOST = 10_000
"""Processes that are killed at a time."""

_TIME = 2.0
"""Seconds for that, where they go on meanwhile."""

Lost = Callable[[], contextlib.AbstractContextManager[descendants.Test]]
"""Within it nothing is started; what it gives says of a child of this process that it was started for no command. A
short-lived program of the host's own is such a child as well."""


class Lookout:
    """A thread of its own for as long as one of them lives, or what it left behind. It kills, and leaves the waiting to
    others."""

    def __init__(self, processes: int, standstill: Standstill, lost: Lost) -> None:
        self._processes = processes
        self._standstill = standstill
        self._lost = lost
        self._pids: set[int] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def watch(self, pid: int) -> None:
        """Until it has ended; where there are too many processes it is killed, and what came of it."""
        with self._lock:
            self._pids.add(pid)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._look, args=(Crowd(self._processes),), daemon=True
                )
                self._thread.start()

    def _look(self, crowd: Crowd) -> None:
        while self._any():
            time.sleep(PAUSE)
            if crowd.grew():
                self._count()

    def _any(self) -> bool:
        with self._lost() as lost, self._lock:
            self._pids = {pid for pid in self._pids if _lives(pid)}
            if self._pids or any(map(_lives, descendants.orphans(lost))):
                return True
            self._thread = None
            return False

    def _count(self) -> None:
        with self._lost() as lost, self._standstill.held():
            if len(list(islice(self._all(lost), self._processes + 1))) > self._processes:
                end = time.monotonic() + _TIME
                while descendants.kill(islice(self._all(lost), _AT_MOST)) and time.monotonic() < end:
                    pass

    def _all(self, lost: descendants.Test) -> Iterator[int]:
        for top in (*self._pids, *descendants.orphans(lost)):
            yield top
            yield from descendants.below(top)


def _lives(pid: int) -> bool:
    return descendants.state(pid) not in descendants.OVER

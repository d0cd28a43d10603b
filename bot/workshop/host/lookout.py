"""Looks after programs that run beside commands. A language server or `cargo check` runs the repository's own code, and
nobody waits for it as for a command.

The kernel keeps their limits but for one, the number of processes: those of all of them together are counted every
second, and whenever the machine has many more threads than before.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice

from bot.contracts.room import when_there_is_room
from bot.workshop.host import descendants
from bot.workshop.host.standstill import Crowd, Standstill

PAUSE = 0.1
"""Seconds between two looks at how many threads there are."""

_EVERY = 1.0
"""Seconds between two counts."""

_LONGEST_COUNT = 0.1
"""Seconds: four times what a thousand processes take, where there is time for that. Where there is none, they are made
to stand still for it."""

_AT_MOST = 10_000
"""Processes that are killed at a time."""

_TIME = 2.0
"""Seconds for that, where they go on meanwhile."""

Lost = Callable[[], contextlib.AbstractContextManager[descendants.Test]]
"""Within it nothing is started; what it gives says of a child of this process that it lost its parent."""


class Lookout:
    """A thread of its own for as long as one of them lives, or what it left behind. It kills, and waits for what lost
    its parent where it `reaps`; for the programs themselves others do."""

    def __init__(self, processes: int, standstill: Standstill, lost: Lost, *, reaps: bool) -> None:
        self._processes = processes
        self._standstill = standstill
        self._lost = lost
        self._reaps = reaps
        self._pids: set[int] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def watch(self, pid: int) -> None:
        """Until it has ended; where there are too many processes it is killed, and what came of it. Raises `OSError`
        where nobody can look after it."""
        with self._lock:
            if self._thread is None:
                crowd = Crowd(self._processes)
                thread = threading.Thread(target=self._look, args=(crowd,), name="lookout", daemon=True)
                when_there_is_room(thread.start, patience=_EVERY)
                self._thread = thread
            self._pids.add(pid)

    def _look(self, crowd: Crowd) -> None:
        next_count = 0.0
        while self._any():
            time.sleep(PAUSE)
            due = time.monotonic() >= next_count
            with contextlib.suppress(OSError):  # what the system refuses now is tried again
                if crowd.grew() or (due and self._many()):
                    self._end_too_many()
            if due:
                next_count = time.monotonic() + _EVERY

    def _any(self) -> bool:
        with self._lost() as lost, self._lock:
            self._pids = {pid for pid in self._pids if _lives(pid)}
            if self._reaps:
                descendants.reap_orphans(lost)
            if self._pids or any(map(_lives, descendants.orphans(lost))):
                return True
            self._thread = None
            return False

    def _many(self) -> bool:
        """Whether there may be too many: a count that takes long is one of many."""
        until = time.monotonic() + _LONGEST_COUNT
        with self._lost() as lost:
            for number, _ in enumerate(self._all(lost), 1):
                if number > self._processes or time.monotonic() > until:
                    return True
        return False

    def _end_too_many(self) -> None:
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

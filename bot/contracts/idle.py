"""Report a peer that sends nothing while the program waits for it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.contracts.capacity import retry_at_capacity

FIRST = 10.0
AGAIN = 60.0
"""Seconds until the first line, and from one line to the next."""


class IdleReporter:
    """Calls `report` from its own thread with a sentence about `name` while `waiting` is entered and `reset` is
    not called. Supports one wait at a time."""

    def __init__(
        self, name: str, report: Callable[[str], None], first: float = FIRST, again: float = AGAIN
    ) -> None:
        self._name = name
        self._report = report
        self._first = first
        self._again = again
        self._last_time = 0.0

    def reset(self, pause: float = 0.0) -> None:
        """Something came. For `pause` seconds nothing is expected, since this program waits itself."""
        self._last_time = time.monotonic() + pause

    @contextmanager
    def waiting(self) -> Iterator[None]:
        over = threading.Event()
        self.reset()
        thread = threading.Thread(target=self._watch, args=(over,), name="silence", daemon=True)
        retry_at_capacity(thread.start)
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        due = self._first
        while not over.wait(max(self._last_time + due - time.monotonic(), 0.01)):
            idle = time.monotonic() - self._last_time
            if idle < self._first:
                due = self._first
            elif idle >= due:
                self._report(f"{self._name} has sent nothing for {idle:.0f} s; still waiting")
                due = idle + self._again

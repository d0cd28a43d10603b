"""Says so if nothing comes from somebody who is waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot.contracts.room import when_there_is_room

FIRST = 10.0
AGAIN = 60.0
"""Seconds until the first line, and from one line to the next."""


class Silence:
    """`say` is called with a sentence about `who`, from a thread of its own, while `waiting` is entered and `heard` is
    not called. Not for two waits at once."""

    def __init__(
        self, who: str, say: Callable[[str], None], first: float = FIRST, again: float = AGAIN
    ) -> None:
        self._who = who
        self._say = say
        self._first = first
        self._again = again
        self._last = 0.0

    def heard(self) -> None:
        self._last = time.monotonic()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        over = threading.Event()
        self.heard()
        thread = threading.Thread(target=self._watch, args=(over,), name="silence", daemon=True)
        when_there_is_room(thread.start)
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        due = self._first
        while not over.wait(max(self._last + due - time.monotonic(), 0.01)):
            quiet = time.monotonic() - self._last
            if quiet < self._first:
                due = self._first
            elif quiet >= due:
                self._say(f"{self._who} has sent nothing for {quiet:.0f} s; still waiting")
                due = quiet + self._again

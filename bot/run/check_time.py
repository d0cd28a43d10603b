"""How long checks may take: one budget for all rounds of a run together."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOCAL_MINUTES = 5.0
ACTIONS_MINUTES = 10.0
_BEFORE = 0.45
"""The share of the budget for the round before the change: with as much again with the change, and something left for
tests that are run again, all of a check fits."""

_CHECKERS = 0.3
"""The share of the budget that the checkers of all rounds may take together."""

_LATER = 10.0
"""Seconds that are kept for each check that comes after, of those that they will need at least."""

_MARGIN = 1.2
"""A run with the change may take so much longer than the one before it."""


class CheckTime:
    """Thread-safe. Counted is the time in which a check runs; two side by side count once."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes
        self._seconds = minutes * 60
        self._spent = 0.0
        self._spent_before = 0.0
        self._spent_checkers = 0.0
        self._running = 0
        self._since = 0.0
        self._until = math.inf
        self._lock = threading.Lock()

    def end_at(self, until: float) -> None:
        """From this time of the monotonic clock on, no check is run a second time."""
        self._until = until

    @property
    def over(self) -> str:
        return f"over the budget of {self.minutes:g} {'minute' if self.minutes == 1 else 'minutes'}"

    @property
    def left(self) -> float:
        with self._lock:
            under_way = time.monotonic() - self._since if self._running else 0.0
            return self._seconds - self._spent - under_way

    @property
    def left_again(self) -> float:
        """For what is run a second time."""
        return min(self.left, self._until - time.monotonic())

    @contextmanager
    def running(self, *, before: bool = False, checkers: bool = False) -> Iterator[None]:
        """While a check runs; `before` in the round before the change. Or while `checkers` do, in any round."""
        began = time.monotonic()
        with self._lock:
            self._running += 1
            self._since = self._since if self._running > 1 else began
        try:
            yield
        finally:
            ended = time.monotonic()
            with self._lock:
                self._running -= 1
                self._spent += 0.0 if self._running else ended - self._since
                self._spent_before += ended - began if before else 0.0
                self._spent_checkers += ended - began if checkers else 0.0

    def limit_before(self, later: int) -> float:
        """Seconds for one check of the round before the change, of which `later` more follow."""
        with self._lock:
            share = _BEFORE * self._seconds - self._spent_before
        share = min(share, self.left)
        return max(share - _LATER * later, min(share, _LATER))

    def limit_checkers(self, rounds: int) -> float:
        """Seconds for the checkers of one round, if there are so many rounds of them yet, this one included."""
        with self._lock:
            share = _CHECKERS * self._seconds - self._spent_checkers
        return max(min(share / rounds, self.left), 0.0)

    def fits(self, seconds: float) -> bool:
        """Whether what took so long before may be run once more with the change."""
        return seconds * _MARGIN <= self.left

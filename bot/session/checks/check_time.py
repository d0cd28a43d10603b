"""The time budget of the checks of a run, over all rounds."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

MINUTES = 10.0
"""The budget if the policy sets none."""

_SHARE_BEFORE = 0.45
"""The share of the base round. As much again is for the round with the change, the rest for reruns."""

_SHARE_CHECKERS = 0.3
"""The share of the checkers of all rounds."""

_SECONDS_PER_LATER_CHECK = 10.0
"""Seconds that are reserved for each later check."""

MARGIN = 1.2
"""The factor by which a run with the change may take longer than the one before."""


class TimeBudget:
    """Counts the time in which at least one check runs. Thread-safe."""

    def __init__(self, minutes: float) -> None:
        self.minutes = minutes
        self._seconds = minutes * 60
        self._used = 0.0
        self._used_before = 0.0
        self._used_checkers = 0.0
        self._running = 0
        self._since = 0.0
        self._reruns_until = math.inf
        self._lock = threading.Lock()

    def stop_reruns_at(self, until: float) -> None:
        """Allow no rerun after this time of the monotonic clock."""
        self._reruns_until = until

    @property
    def over_budget(self) -> str:
        return f"over the budget of {self.minutes:g} {'minute' if self.minutes == 1 else 'minutes'}"

    @property
    def left(self) -> float:
        with self._lock:
            under_way = time.monotonic() - self._since if self._running else 0.0
            return self._seconds - self._used - under_way

    @property
    def left_for_reruns(self) -> float:
        """Seconds left for reruns."""
        return min(self.left, self._reruns_until - time.monotonic())

    @contextmanager
    def running(self, *, before: bool = False, checkers: bool = False) -> Iterator[None]:
        """Count the time of the context: of a check, of a check on the base (`before`), or of `checkers`."""
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
                self._used += 0.0 if self._running else ended - self._since
                self._used_before += ended - began if before else 0.0
                self._used_checkers += ended - began if checkers else 0.0

    def limit_before(self, later: int) -> float:
        """Return the seconds for one check of the base round, with `later` more checks to follow."""
        with self._lock:
            share = _SHARE_BEFORE * self._seconds - self._used_before
        share = min(share, self.left)
        return max(share - _SECONDS_PER_LATER_CHECK * later, min(share, _SECONDS_PER_LATER_CHECK))

    def limit_checkers(self, rounds: int) -> float:
        """Return the seconds for the checkers of one round, with `rounds` left including this one."""
        with self._lock:
            share = _SHARE_CHECKERS * self._seconds - self._used_checkers
        return max(min(share / rounds, self.left), 0.0)

    def fits(self, seconds: float) -> bool:
        """Whether a check that took so many seconds before fits into the time left."""
        return seconds * MARGIN <= self.left

"""The time that the checks and checkers of a run may take, all rounds together."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

_SHARE_BEFORE = 0.45
"""The share of the base round. As much again is for the round with the change, the rest for reruns."""
_SHARE_CHECKERS = 0.3
"""The share of the checkers of all rounds."""
_SECONDS_PER_LATER_CHECK = 10.0
"""Seconds that are reserved for each later check."""
MARGIN = 1.2
"""The factor by which a run with the change may take longer than the one before."""


class TimeBudget:
    """Counts the time of checks and checkers in seconds, by what they are for. Each purpose runs on one thread at a
    time."""

    def __init__(self, minutes: float) -> None:
        self.over_budget = f"over the budget of {minutes:g} {'minute' if minutes == 1 else 'minutes'}"
        self._seconds = minutes * 60
        self._used = {"before": 0.0, "after": 0.0, "checkers": 0.0}
        self.reruns_until = math.inf
        """Of the monotonic clock."""

    @property
    def left(self) -> float:
        return self._seconds - sum(self._used.values())

    @property
    def left_for_reruns(self) -> float:
        return min(self.left, self.reruns_until - time.monotonic())

    @contextmanager
    def running(self, what: Literal["before", "after", "checkers"]) -> Iterator[None]:
        """Count the time of the context: of a check before or after the change, or of checkers."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._used[what] += time.monotonic() - began

    def limit_before(self, later: int) -> float:
        """Return the seconds for one check of the base round, with `later` more checks to follow."""
        share = min(_SHARE_BEFORE * self._seconds - self._used["before"], self.left)
        return max(share - _SECONDS_PER_LATER_CHECK * later, min(share, _SECONDS_PER_LATER_CHECK))

    def limit_checkers(self, rounds: int) -> float:
        """Return the seconds for the checkers of one round, with `rounds` left including this one."""
        share = _SHARE_CHECKERS * self._seconds - self._used["checkers"]
        return max(min(share / rounds, self.left), 0.0)

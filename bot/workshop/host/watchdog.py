"""Looks after a command while it runs: what the kernel does not limit by itself is counted every 50 ms."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from bot.workshop.host import descendants, usage
from bot.workshop.host.disk_use import DiskUse
from bot.workshop.host.limits import Limits, Over
from bot.workshop.host.standstill import Crowd
from bot.workshop.host.unmapped import Unmapped

PAUSE = 0.05
"""Seconds between two looks."""

_TIME_SHARE = 20
"""A look may take one part in so many of the time: of a tree of hundreds of processes it is taken less often."""

_LONGEST_COUNT = 0.1
"""Seconds: four times what a thousand processes take, where there is time for that."""


class Watchdog:
    """For one command. `due` is when to look next, by `time.monotonic`."""

    def __init__(self, limits: Limits, disk: DiskUse) -> None:
        self.due = time.monotonic() + PAUSE
        self._limits = limits
        self._disk = disk
        self._added_before = disk.added
        self._unmapped = Unmapped(limits.memory)
        self._crowd = Crowd(limits.processes)
        self._next_look = 0.0

    def look(self, keeper: int, stand_still: Callable[[], None]) -> Over | None:
        """The limit that is passed by all that descends from the process `keeper`. `stand_still` is called where there
        are so many that they would leave no time to look at them."""
        began = time.monotonic()
        self.due = began + PAUSE
        crowded = self._crowd.grew()
        if began < self._next_look and not crowded:
            return None
        if crowded:
            stand_still()
        pids, all_of_them = self._beneath(keeper, inf if crowded else began + _LONGEST_COUNT)
        if not all_of_them:
            stand_still()
            pids, _ = self._beneath(keeper, inf)
        over = self._over(pids)
        self._next_look = began + (time.monotonic() - began) * _TIME_SHARE
        return over

    def _beneath(self, keeper: int, until: float) -> tuple[list[int], bool]:
        """Whether there was time for all of them that are of interest, too."""
        pids: list[int] = []
        for pid in descendants.below(keeper):
            pids.append(pid)
            if len(pids) > self._limits.processes:
                break
            if time.monotonic() > until:
                return pids, False
        return pids, True

    def _over(self, pids: list[int]) -> Over | None:
        allowed = self._limits
        if len(pids) > allowed.processes:
            return Over("processes", allowed.processes)
        # Pages that a fork shares are counted for both, so a sum over the limit is not the last word.
        if usage.held(pids) > allowed.memory and self._fairly_over(pids):
            return Over("memory", allowed.memory)
        if self._unmapped.over(pids):
            return Over("memory", allowed.memory)
        return self._disk.look(pids, self._added_before)

    def _fairly_over(self, pids: list[int]) -> bool:
        """Twice: a fork or an end between two readings of one look counts shared pages for more than they are."""
        return all(usage.fairly_held(pids) > self._limits.memory for _ in range(2))

"""Looks after a command while it runs: what the kernel does not limit by itself is counted every 50 ms."""

from __future__ import annotations

import time
from itertools import islice

from bot.workshop.host import descendants, usage
from bot.workshop.host.disk_use import DiskUse
from bot.workshop.host.limits import Limits, Over
from bot.workshop.host.unmapped import Unmapped

PAUSE = 0.05
"""Seconds between two looks."""

_TIME_SHARE = 20
"""A look may take one part in so many of the time: of a tree of hundreds of processes it is taken less often."""


class Watchdog:
    """For one command. `due` is when to look next, by `time.monotonic`."""

    def __init__(self, limits: Limits, disk: DiskUse) -> None:
        self.due = time.monotonic() + PAUSE
        self._limits = limits
        self._disk = disk
        self._added_before = disk.added
        self._unmapped = Unmapped(limits.memory)

    def look(self, keeper: int) -> Over | None:
        """The limit that is passed by all that descends from the process `keeper`."""
        began = time.monotonic()
        pids = list(islice(descendants.below(keeper), self._limits.processes + 1))
        over = self._over(pids)
        took = time.monotonic() - began
        self.due = began + max(PAUSE, took * _TIME_SHARE)
        return over

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

"""When the watchdog has all of a run stand still before it looks: never where there is time to look."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.workshop.host import descendants, standstill, watchdog
from bot.workshop.host.disk_use import DiskUse
from bot.workshop.host.limits import Limits, Over
from bot.workshop.host.watchdog import Watchdog

PROCESSES = 80
BEFORE = 1000


class Machine:
    """`threads` are all that run on it, `below` those that the command has; `seen` is what was done, in order."""

    def __init__(self) -> None:
        self.threads = BEFORE
        self.below = 2
        self.seen: list[str] = []

    def look(self, watched: Watchdog) -> Over | None:
        self.seen.clear()
        return watched.look(os.getpid(), lambda: self.seen.append("still"))

    def pids(self, _keeper: int) -> Iterator[int]:
        self.seen.append("look")
        return iter(range(1 << 22, (1 << 22) + self.below))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(standstill, "threads", lambda: made.threads)
    monkeypatch.setattr(descendants, "below", made.pids)
    return made


@pytest.fixture
def watched(machine: Machine, tmp_path: Path) -> Watchdog:
    limits = Limits(processes=PROCESSES)
    return Watchdog(limits, DiskUse((tmp_path,), limits.disk))


def test_a_few_are_looked_at_while_they_run(machine: Machine, watched: Watchdog) -> None:
    machine.threads += PROCESSES // 8
    assert machine.look(watched) is None
    assert machine.seen == ["look"]


def test_a49_a_crowd_stands_still_before_any_of_it_is_looked_at(machine: Machine, watched: Watchdog) -> None:
    """However soon after the look before; and not again where it does not grow. Breaks: bot/workshop/host/watchdog.py
    "        if crowded:"."""
    machine.look(watched)
    watched._next_look = float("inf")
    machine.threads += PROCESSES
    machine.below = PROCESSES + 1
    assert machine.look(watched) == Over("processes", PROCESSES)
    assert machine.seen == ["still", "look"]
    watched._next_look = 0.0
    machine.look(watched)
    assert machine.seen == ["look"]


def test_a49_they_stand_still_where_there_is_no_time_to_look(
    machine: Machine, watched: Watchdog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks: bot/workshop/host/watchdog.py "if time.monotonic() > until:"."""
    monkeypatch.setattr(watchdog, "_LONGEST_COUNT", -1.0)
    assert machine.look(watched) is None
    assert machine.seen == ["look", "still", "look"]


def test_the_machine_s_threads_are_counted() -> None:
    assert standstill.threads() >= len(os.listdir("/proc/self/task"))

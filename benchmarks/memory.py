"""How much memory a program and its helpers take at most, shared pages counted once, and how much of processors.

A sum of PSS over the process tree, sampled; commands that the tool host runs are left out. The tool host lets no
other user look at it: where the bench does not run as root its resident size counts instead, which is more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

_EVERY = 0.01
HOST = "slash-toolhost"
"""What the tool host calls itself."""


class Peak:
    """`watch` samples until the process ends; `mib` is the most that was seen."""

    def __init__(self, *, with_commands: bool = False) -> None:
        self.mib = 0.0
        self._with_commands = with_commands

    def watch(self, pid: int) -> None:
        while not _ended(pid):
            self.mib = max(self.mib, self._now(pid))
            time.sleep(_EVERY)

    def _now(self, pid: int) -> float:
        return sum(map(_kib, set(tree(pid, with_commands=self._with_commands)))) / 1024


def tree(pid: int, *, with_commands: bool = False) -> Iterator[int]:
    """The process and what it started, without what the tool host started."""
    yield pid
    if not with_commands and command_name(pid) == HOST:
        return
    own = _read(f"/proc/{pid}/cmdline")
    for child in _children(pid):
        # Between fork and exec a child is a second view of the same memory.
        if _read(f"/proc/{child}/cmdline") != own:
            yield from tree(child, with_commands=with_commands)


def command_name(pid: int) -> str:
    return _read(f"/proc/{pid}/comm").strip()


def highest(pid: int) -> float:
    """The most that was resident of a process so far, in MiB."""
    lines = _read(f"/proc/{pid}/status").splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def processors_ms(pid: int) -> float:
    """What the process and what it started have used of processors, the tool host's commands apart; to a tick."""
    ticks = (_read(f"/proc/{one}/stat").rpartition(")")[2].split() for one in set(tree(pid)))
    return (
        sum(int(fields[11]) + int(fields[12]) for fields in ticks if fields) * 1000 / os.sysconf("SC_CLK_TCK")
    )


def _kib(pid: int) -> int:
    for file, field in ((f"/proc/{pid}/smaps_rollup", "Pss:"), (f"/proc/{pid}/status", "VmRSS:")):
        for line in _read(file).splitlines():
            if line.startswith(field):
                return int(line.split()[1])
    return 0


def _children(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for task in tasks for child in _read(f"/proc/{pid}/task/{task}/children").split()]


def _ended(pid: int) -> bool:
    """Whether it is gone or waits to be reaped."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return not fields or fields[0] == "Z"


def _read(path: str) -> str:
    """Empty for a process that is gone or not ours to look at."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

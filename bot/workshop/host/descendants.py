"""The processes that came from this one: found by what the kernel says of them, and ended.

The host is the reaper of its orphans (`main.harden`), so whatever lost its parent is its child.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

_SWEEP_LIMIT = 2.0
_SHOWN = 80

Test = Callable[[int], bool]
"""Whether a process, by its id, is one of those."""


def sweep(spare: Test | None = None) -> int:
    """Kill and reap every child of this process, and theirs, until none is left but those to `spare`. Returns how
    many still ran.

    A killed parent's children become ours, so each round goes one level down.
    """
    if spare is not None:
        return sweep_only(lambda pid: not spare(pid))
    swept = 0
    deadline = time.monotonic() + _SWEEP_LIMIT
    while _reap() and time.monotonic() < deadline:
        swept += sum(map(_end, children()))
    return swept


def sweep_only(mine: Test) -> int:
    """As `sweep`, of those children that are `mine` alone. Reaps nobody else's."""
    swept = 0
    deadline = time.monotonic() + _SWEEP_LIMIT
    while (found := [pid for pid in children() if mine(pid)]) and time.monotonic() < deadline:
        swept += sum(map(_end, found))
    return swept


def kill_children() -> None:
    """Kill every child and its group at once; whoever waits for them, or `sweep`, reaps."""
    for child in children():
        signal_group(child, signal.SIGKILL)


def signal_all(leader: int, number: signal.Signals) -> None:
    """Signal the group of `leader`, and those beneath it that made a group of their own."""
    apart = list(below(leader))
    signal_group(leader, number)
    for pid in apart:
        try:
            if os.getpgid(pid) != leader:
                os.kill(pid, number)
        except ProcessLookupError:
            continue  # ended with the group


def signal_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return  # the whole group is gone


def children(pid: int | None = None) -> list[int]:
    """The children of `pid`, of this process where it is left out; those that ended and were not waited for too."""
    folder = f"/proc/{pid or 'self'}/task"
    found: list[int] = []
    try:
        for task in os.listdir(folder):
            with open(f"{folder}/{task}/children", "rb") as listing:
                found += map(int, listing.read().split())
    except (FileNotFoundError, ProcessLookupError):
        return found  # it, or one of its threads, ended meanwhile
    return found


def below(pid: int) -> Iterator[int]:
    """Everything that descends from `pid`, children before theirs."""
    for child in children(pid):
        yield child
        yield from below(child)


def comes_from(pid: int, leader: int, mark: bytes) -> bool:
    """Whether `pid` is `leader`, is in its session, or still has `mark` in its environment."""
    if pid == leader:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            if int(stat.read().rpartition(b")")[2].split()[3]) == leader:
                return True
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return mark in environ.read().split(b"\0")
    except (OSError, IndexError, ValueError):
        return False  # gone, or it lets nobody look


def command_line(pid: int) -> str:
    """What `pid` runs, on one line; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4 * _SHOWN).replace(b"\0", b" ").decode("utf-8", "replace").split()
    except OSError:
        return ""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(words))
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def _reap() -> bool:
    """Take the exit status of every child that ended by itself. True while there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _end(pid: int) -> bool:
    """Kill and reap a child. False when it had ended by itself."""
    try:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return False
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return False
    return True

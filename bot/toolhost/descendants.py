"""Find and kill the descendants of a process, by the kernel's tables.

A subreaper adopts the orphans of its command, and the host those of a killed subreaper, so every orphan stays below
the process that searches.
"""

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable, Iterator

_SWEEP_LIMIT = 2.0
_MAX_LENGTH = 80
_MOST_LINES = 5

MOST_INSPECTED = 16
"""Processes whose command lines are read."""

_OVER = ("Z", "X", "")
"""The states of processes that have ended."""

Pids = Collection[int]


def sweep(codes: dict[int, int] | None = None, *, orphans_but: Pids | None = None) -> int:
    """Kill and reap all descendants of this process until none is left, or only adopted orphans other than
    `orphans_but`, with their descendants. Returns how many still ran; exit codes of children are added to `codes`."""
    ran: set[int] = set()
    deadline = time.monotonic() + _SWEEP_LIMIT
    while (tops := children() if orphans_but is None else _orphans(orphans_but)) and (
        time.monotonic() < deadline
    ):
        ran.update(kill([*tops, *(one for top in tops for one in below(top))]))
        for pid in tops:
            with contextlib.suppress(ChildProcessError):
                status = os.waitpid(pid, 0)[1]
                if codes is not None:
                    codes[pid] = os.waitstatus_to_exitcode(status)
    return len(ran)


def reap_orphans(others: Pids) -> None:
    """Reap the adopted orphans that have ended, but for `others`."""
    for pid in _orphans(others):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _orphans(others: Pids) -> list[int]:
    return [pid for pid in _of_thread(f"/proc/self/task/{os.getpid()}") if pid not in others]


def kill(pids: Iterable[int]) -> list[int]:
    """Kill each with its whole process group, so that a fork bomb gains no time. Return those that still ran."""
    states = [(pid, *state(pid)) for pid in pids]
    running = [(pid, group) for pid, state, group in states if state not in _OVER]
    for group in {group for _, group in running} - {0, os.getpgrp()}:
        kill_group(group)
    for pid, _ in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [pid for pid, _ in running]


def reap(codes: dict[int, int]) -> bool:
    """Add the exit codes of children that ended to `codes`. Return whether there are others."""
    try:
        while (waited := os.waitpid(-1, os.WNOHANG))[0]:
            codes[waited[0]] = os.waitstatus_to_exitcode(waited[1])
    except ChildProcessError:
        return False
    return True


def kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def children(pid: int | None = None) -> list[int]:
    """The children of `pid`, by default of this process, including those that ended and were not reaped."""
    folder = f"/proc/{pid or 'self'}/task"
    children: list[int] = []
    try:
        for task in os.listdir(folder):
            children += _of_thread(f"{folder}/{task}")
    except (FileNotFoundError, ProcessLookupError):
        return children  # it ended meanwhile
    return children


def _of_thread(task: str) -> list[int]:
    """The children that one thread forked. Orphans are adopted by a process's first living thread."""
    try:
        with open(f"{task}/children", "rb", buffering=0) as listing:
            return list(map(int, listing.read().split()))
    except (FileNotFoundError, ProcessLookupError):
        return []  # it ended meanwhile


def below(pid: int) -> Iterator[int]:
    """Everything that descends from `pid`, parents before their children. They may be nested a thousand deep."""
    left = children(pid)[::-1]
    while left:
        child = left.pop()
        yield child
        left += children(child)[::-1]


def command_lines(pids: Iterable[int]) -> tuple[str, ...]:
    """The command lines of processes that have not ended, each on one line, the first few, once each."""
    lines: dict[str, None] = {}
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4 * _MAX_LENGTH).replace(b"\0", b" ").decode("utf-8", "replace").split()
            line = "".join(c if c.isprintable() else "?" for c in " ".join(words))
            lines[line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 3] + "..."] = None
    return tuple(filter(None, lines))[:_MOST_LINES]


def lives(pid: int) -> bool:
    return state(pid)[0] not in _OVER


def state(pid: int) -> tuple[str, int]:
    """The letter of its state in `/proc/PID/stat`, empty if it does not exist, and its process group."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            state, _, group = stat.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return "", 0
    return state.decode(), int(group)

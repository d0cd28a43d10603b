"""The processes that came from this one, or from another: found by what the kernel says of them, and ended.

A keeper is the reaper of its command's orphans and the host is of a killed keeper's, so whatever lost its parent is
below the one that asks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

_SWEEP_LIMIT = 2.0
_MANY = 64
"""More than a command leaves behind: a bomb that forks anew while each of its processes is looked at."""

_SHOWN = 80
OVER = ("Z", "X", "")
"""The states of what has ended."""

Test = Callable[[int], bool]
"""Whether a process, by its id, is one of those."""


def sweep(codes: dict[int, int] | None = None) -> int:
    """Kill and reap every child of this process, and theirs, until none is left. Returns how many still ran; `codes`
    is given the exit codes of the children."""
    return _sweep(children, codes)


def sweep_orphans(mine: Test) -> int:
    """As `sweep`, of those that lost their parent and came to this process, as far as they are `mine`, with what is
    below them. Reaps nobody else's."""
    return _sweep(lambda: orphans(mine), None)


def reap_orphans(mine: Test) -> None:
    """Wait for those orphans that have ended."""
    for pid in orphans(mine):
        _take(pid, None, os.WNOHANG)


def orphans(mine: Test) -> list[int]:
    """Those that lost their parent and came to this process, as far as they are `mine`."""
    return [pid for pid in _of_thread(f"/proc/self/task/{os.getpid()}") if mine(pid)]


def _sweep(find: Callable[[], list[int]], codes: dict[int, int] | None) -> int:
    ran: set[int] = set()
    deadline = time.monotonic() + _SWEEP_LIMIT
    while (tops := find()) and time.monotonic() < deadline:
        lower = (one for top in tops[:_MANY] for one in below(top))
        found = [*tops, *islice(lower, max(0, _MANY + 1 - len(tops)))]
        many = len(found) > _MANY
        ran.update(_kill_at_once(found) if many else kill(found))
        for pid in tops:
            _take(pid, codes, os.WNOHANG if many else 0)
    return len(ran)


def give_way(pid: int) -> None:
    """Have the children of `pid` stand still with their groups, and those of them that are in others run last with what
    they fork from now on. A bomb leaves one process in a thousandth of the time, in which it would have to be ended."""
    for _ in range(3):
        found = children(pid)
        _signal_groups(found, signal.SIGSTOP)
        for child in found:
            _run_last(child)


def _run_last(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)


def _kill_at_once(pids: list[int]) -> list[int]:
    """Kill each with its group, without a look at its state: whatever is below them comes to this process, and is next.
    The kernel lets nobody fork while it kills a group, so a bomb that stays in one is over by that."""
    _signal_groups(pids, signal.SIGKILL)
    for pid in pids:
        _run_last(pid)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids


def _signal_groups(pids: Iterable[int], number: signal.Signals) -> None:
    for group in {_group(pid) for pid in pids} - {0, os.getpgrp()}:
        signal_group(group, number)


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def kill(pids: Iterable[int]) -> list[int]:
    """Kill each with its whole process group, which leaves a group that multiplies no time; which of them still ran."""
    found = [(pid, *_state(pid)) for pid in pids]
    running = [(pid, group) for pid, state, group in found if state not in OVER]
    for group in {group for _, group in running} - {0, os.getpgrp()}:
        signal_group(group, signal.SIGKILL)
    for pid, _ in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [pid for pid, _ in running]


def reap(codes: dict[int, int]) -> bool:
    """Take the exit codes of those children that ended. True while there are others."""
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            codes[found[0]] = os.waitstatus_to_exitcode(found[1])
    except ChildProcessError:
        return False
    return True


def kill_children() -> None:
    """Kill every child and its group at once; whoever waits for them, or `sweep`, reaps."""
    for child in children():
        signal_group(child, signal.SIGKILL)


def signal_below(pid: int, number: signal.Signals) -> None:
    """Signal everything that descends from `pid`."""
    for one in list(below(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, number)


def signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def children(pid: int | None = None) -> list[int]:
    """The children of `pid`, of this process where it is left out; those that ended and were not waited for too."""
    folder = f"/proc/{pid or 'self'}/task"
    found: list[int] = []
    try:
        for task in os.listdir(folder):
            found += _of_thread(f"{folder}/{task}")
    except (FileNotFoundError, ProcessLookupError):
        return found  # it ended meanwhile
    return found


def _of_thread(task: str) -> list[int]:
    """The children of one thread: those that it forked. Orphans are given to a process's first thread that lives."""
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


def command_line(pid: int) -> str:
    """What `pid` runs, on one line; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4 * _SHOWN).replace(b"\0", b" ").decode("utf-8", "replace").split()
    except OSError:
        return ""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(words))
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def state(pid: int) -> str:
    """The letter that /proc/PID/stat has for the state of `pid`; empty when it is gone."""
    return _state(pid)[0]


def _state(pid: int) -> tuple[str, int]:
    """The letter of its state and its process group; an empty letter when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as stat:
            state, _, group = stat.read().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return "", 0
    return state.decode(), int(group)


def _take(pid: int, codes: dict[int, int] | None, how: int = 0) -> None:
    """Wait for the end of a child that was killed; with WNOHANG only where it has come already."""
    with contextlib.suppress(ChildProcessError):
        taken, status = os.waitpid(pid, how)
        if taken and codes is not None:
            codes[pid] = os.waitstatus_to_exitcode(status)

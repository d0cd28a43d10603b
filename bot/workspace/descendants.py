"""Find the descendants of a process in the kernel's tables, and kill them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

_PR_SET_CHILD_SUBREAPER = 36


def children(pid: int) -> list[int]:
    """Those that ended and were not waited for among them."""
    pids: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as listing:
                pids += map(int, listing.read().split())
    except OSError:
        return pids  # it ended meanwhile
    return pids


def descendants(pid: int) -> Iterator[int]:
    """Each after those beneath it."""
    for child in children(pid):
        yield from descendants(child)
        yield child


def kill_all(find: Callable[[], Iterator[int]], limit: float) -> None:
    """Kill what `find` finds until it finds nothing, for at most `limit` seconds."""
    deadline = time.monotonic() + limit
    while (pids := list(find())) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)  # they are somebody else's children: there is nothing to wait on


def kill_all_of_ours(limit: float) -> None:
    """End whatever this process started, and what that started, for a process that is about to end itself."""
    if sys.platform == "linux":
        import ctypes

        # What loses its parent on the way comes to us, and is found again.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    kill_all(lambda: filter(_lives, descendants(os.getpid())), limit)


def _lives(pid: int) -> bool:
    """Whether it has not ended: it may stay listed until somebody waits for it."""
    return state(pid) not in ("Z", "X", "")


def state(pid: int) -> str:
    """The letter for the state of a process in `/proc/PID/stat`; empty if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b") ")[2][:1].decode()
    except OSError:
        return ""

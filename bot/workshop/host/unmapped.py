"""Memory of a command that no process's own books show: files that are in memory alone, segments of System V, and what
the kernel holds for its sockets.

The first two are counted. For the rest there is the machine's own word, which counts what anybody does: it only matters
where hardly anything is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

_TIME_SHARE = 20
_PAUSE = 1.0
_GROWN_SHARE = 16
"""A walk is due when the machine's shared memory grew by one part in so many of what is allowed."""

_LAST_SHARE = 16
"""One part in so many of the machine's memory is left to nobody: without it the kernel would choose what to end."""

_SEGMENTS = "/proc/sysvipc/shm"
_MACHINE = "/proc/meminfo"

_IPC_RMID, _SHM_INFO = 0, 14
_SHM_INFO_SIZE = 128
"""Bytes; the kernel's `struct shm_info` has 48, and how many segments there are is its first number."""


class Machine(NamedTuple):
    """In bytes; zeros where nobody says."""

    total: int = 0
    available: int = 0
    shared: int = 0


class Unmapped:
    """For one command. `allowed` is in bytes."""

    def __init__(self, allowed: int, began: Machine | None = None) -> None:
        self._allowed = allowed
        self._began = began or machine()
        self._walked = self._began
        self._held = 0
        self._due = self._soonest = 0.0

    def over(self, pids: Iterable[int], now: Machine | None = None) -> bool:
        """Whether `pids` hold more of it than is allowed, or the machine runs out of memory while they do."""
        there = now or machine()
        lost = self._began.available - there.available
        if lost > self._allowed and there.available < there.total // _LAST_SHARE:
            return True
        moment = time.monotonic()
        grown = there.shared - self._walked.shared > self._allowed // _GROWN_SHARE
        if moment >= self._due or (grown and moment >= self._soonest):
            self._walked = there
            self._held = files_held(pids) + segments_held()
            took = time.monotonic() - moment
            self._soonest, self._due = moment + took * _TIME_SHARE, moment + max(_PAUSE, took * _TIME_SHARE)
        return self._held > self._allowed


def machine() -> Machine:
    """What the kernel says of the whole machine; 20 us."""
    fields = {b"MemTotal": 0, b"MemAvailable": 0, b"Shmem": 0}
    with contextlib.suppress(OSError, ValueError), open(_MACHINE, "rb", buffering=0) as file:
        for line in file.read(4096).split(b"\n"):
            name, _, value = line.partition(b":")
            if name in fields:
                fields[name] = int(value.split()[0]) * 1024
    return Machine(*fields.values())


def files_held(pids: Iterable[int]) -> int:
    """Bytes in the files without a name that these processes hold open and that lie in memory, each file once."""
    counted: dict[int, int] = {}
    for file in _open_files(pids):
        if file.st_dev == _memory_device() and stat.S_ISREG(file.st_mode):
            counted[file.st_ino] = file.st_blocks * 512
    return sum(counted.values())


def segments_held() -> int:
    """Bytes in the System V segments of this namespace; none where it is the machine's own."""
    return sum(segment.held for segment in _segments())


def drop_segments() -> None:
    """Remove the segments of this namespace that no process is attached to: nobody is left who would do it."""
    if os.getpid() != 1:
        return
    libc, counts = _libc(), ctypes.create_string_buffer(_SHM_INFO_SIZE)
    if libc.shmctl(0, _SHM_INFO, counts) >= 0 and not any(counts[: ctypes.sizeof(ctypes.c_int)]):
        return  # 20 times as quick as to read of none
    for segment in _segments():
        if not segment.attached:
            libc.shmctl(segment.id, _IPC_RMID, None)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


class _Segment(NamedTuple):
    id: int
    attached: int
    held: int


def _segments() -> Iterator[_Segment]:
    if os.getpid() != 1:  # behind Landlock none can be made, and without a sandbox they are somebody else's
        return
    with contextlib.suppress(OSError, ValueError, IndexError), open(_SEGMENTS, "rb", buffering=0) as file:
        # key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap
        for line in file.read(1 << 20).split(b"\n")[1:]:
            if fields := line.split():
                yield _Segment(int(fields[1]), int(fields[6]), int(fields[14]) + int(fields[15]))


def _open_files(pids: Iterable[int]) -> Iterator[os.stat_result]:
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            for fd in os.listdir(folder):
                yield os.stat(f"{folder}/{fd}")
        except OSError:
            continue  # it ended meanwhile, or lets nobody look


@cache
def _memory_device() -> int:
    probe = os.memfd_create("probe")
    try:
        return os.fstat(probe).st_dev
    finally:
        os.close(probe)

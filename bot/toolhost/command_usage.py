"""Measure the memory and the disk space that a command uses."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bot.toolhost import descendants
from bot.toolhost.resource_limits import ExceededLimit, ResourceLimits
from bot.toolhost.system_calls import libc

_PAUSE = 0.05
"""Seconds between two measurements of a command."""

_TIME_SHARE = 20
"""Measuring may take one part in this many of the time: a tree of hundreds of processes is measured less often."""

_HELD = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
_SHARES = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")


class CommandUsage:
    """Measures one command. `due` is the time of the next measurement, by `time.monotonic`."""

    def __init__(self, limits: ResourceLimits, disk: DiskUse) -> None:
        self.due = time.monotonic() + _PAUSE
        self._limits = limits
        self._disk = disk
        self._added_before = disk.before()
        self._machine = machine()

    def over(self, subreaper: int) -> ExceededLimit | None:
        """The limit that the descendants of the process `subreaper` exceed together."""
        began, allowed = time.monotonic(), self._limits.memory
        pids = list(islice(descendants.below(subreaper), self._limits.processes))
        # Pages that a fork shares are counted for both, so a sum over the limit is not the last word. That is read
        # twice: a fork or an exit between two readings would count shared pages more than once.
        used_up = held(pids) > allowed and all(proportional_memory(pids) > allowed for _ in range(2))
        if used_up or unmapped(pids) > allowed or runs_out(self._machine, machine(), allowed):
            over: ExceededLimit | None = ExceededLimit("memory", allowed)
        else:
            over = self._disk.check(pids, self._added_before)
        self.due = began + max(_PAUSE, (time.monotonic() - began) * _TIME_SHARE)
        return over


def held(pids: Iterable[int]) -> int:
    """Bytes of memory, with a shared page counted once for each process; takes 15 us a process."""
    return sum(_sum(f"/proc/{pid}/status", _HELD) for pid in pids)


def proportional_memory(pids: Iterable[int]) -> int:
    """Bytes of memory, with a shared page counted once: the kernel walks the page tables, which takes milliseconds for
    each GiB. The result of `held` for a process that may not be inspected."""
    return sum(_sum(f"/proc/{pid}/smaps_rollup", _SHARES) or held([pid]) for pid in pids)


def _sum(path: str, names: tuple[bytes, ...]) -> int:
    try:
        with open(path, "rb", buffering=0) as file:
            text = file.read(8192)
    except OSError:
        return 0  # it ended, or does not let us
    fields = (text.partition(name)[2].split(maxsplit=1) for name in names)
    return sum(int(words[0]) for words in fields if words) * 1024


_BLOCK = 512
_LEAST = 4096
"""Bytes that a file or a folder counts for, an empty one too: a disk also runs out of places for files."""
_WALK_SHARE = 50
"""A walk of the folders may take one part in this many of a processor: what waits for one is not counted."""

_LONGEST_WALK = 2.0


class DiskUse:
    """One for all commands of a workspace, for any thread. `added` and `allowed` are in bytes; `pause` is the shortest
    time between two walks in seconds, unless much space was used meanwhile."""

    def __init__(self, folders: Sequence[Path], allowed: int, pause: float = 1.0) -> None:
        self.added = 0
        self._folders = tuple(folders)
        # Open, since a command may remove them or put something else in their place.
        self._opened = [os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) for folder in folders]
        self._devices = {os.fstat(folder).st_dev for folder in self._opened}
        self._began = time.time() - 1  # a file's time is a tick of the kernel's clock behind ours
        self._free = _free(self._opened)
        # Not all of the free space: a full disk would break the journal and the answer.
        self.allowed = min(allowed, min(self._free) * 9 // 10)
        self._pause = pause
        self._gone_at_walk = 0
        self._next_walk = time.monotonic() + pause
        self._lock = threading.Lock()

    def before(self) -> int:
        """`added` when a command begins: a stopped command may have written more since the last walk."""
        with self._lock:
            if self.added > self.allowed:
                self._walk((), self._gone())
            return self.added

    def check(self, pids: Iterable[int], before: int) -> ExceededLimit | None:
        """Return the limit if what was added exceeds it. `before` is `added` when the command began, since a command
        that only deletes is not stopped; `pids` are its processes, which may hold deleted files open."""
        with self._lock:
            gone = self._gone()
            much = gone > self.allowed and gone > self._gone_at_walk + self.allowed // 20
            if much or time.monotonic() >= self._next_walk:
                self._gone_at_walk = gone
                self._walk(pids, gone)
            return ExceededLimit("disk", self.allowed) if self.added > max(self.allowed, before) else None

    def _gone(self) -> int:
        """Bytes of free space lost since the workspace began, by anybody."""
        return max(was - now for was, now in zip(self._free, _free(self._opened), strict=True))

    def _walk(self, pids: Iterable[int], gone: int) -> None:
        began, used = time.monotonic(), time.thread_time()
        counted: dict[tuple[int, int], int] = {}
        endless = False
        for file in self._new_files(pids):
            counted[file.st_dev, file.st_ino] = max(file.st_blocks * _BLOCK, _LEAST)
            if endless := time.monotonic() - began > _LONGEST_WALK:
                break
        self.added = max(sum(counted.values()), gone if endless else 0)
        self._next_walk = began + max(self._pause, (time.thread_time() - used) * _WALK_SHARE)

    def _new_files(self, pids: Iterable[int]) -> Iterator[os.stat_result]:
        """The files added since the workspace began, and those that were deleted and are held open."""
        for file in _open_files(pids):
            if stat.S_ISREG(file.st_mode) and file.st_nlink == 0 and file.st_dev in self._devices:
                yield file
        for folder in self._folders:
            yield from (file for file in _files_below(folder) if file.st_ctime >= self._began)


def _free(folders: Iterable[int]) -> list[int]:
    """The free bytes of each file system, and its free inodes in bytes if it counts them."""
    free: list[int] = []
    for at in map(os.statvfs, folders):
        free += [at.f_bavail * at.f_frsize, *([at.f_favail * _LEAST] if at.f_files else [])]
    return free


def _files_below(folder: Path) -> Iterator[os.stat_result]:
    left = [str(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    yield entry.stat(follow_symlinks=False)
        except OSError:
            continue  # it went meanwhile, or cannot be read: then what is gone on the disk still tells


_LAST_SHARE = 16
"""One part in this many of the machine's memory is left free: without it the kernel would choose which process to
end."""


class Machine(NamedTuple):
    """The memory of the machine in bytes; zeros if unknown."""

    total: int = 0
    available: int = 0


def machine() -> Machine:
    """Read it; takes 20 us."""
    fields = {b"MemTotal": 0, b"MemAvailable": 0}
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", "rb", buffering=0) as file:
        for line in file.read(4096).split(b"\n"):
            name, _, value = line.partition(b":")
            if name in fields:
                fields[name] = int(value.split()[0]) * 1024
    return Machine(*fields.values())


def runs_out(before: Machine, now: Machine, allowed: int) -> bool:
    """Whether the machine lost more than `allowed` bytes and has hardly any left."""
    return before.available - now.available > allowed and now.available < now.total // _LAST_SHARE


def unmapped(pids: Iterable[int]) -> int:
    """Bytes of memory that no process maps: in deleted files that these processes hold open, each once, and in the
    System V segments of this namespace."""
    files = {
        file.st_ino: file.st_blocks * _BLOCK
        for file in _open_files(pids)
        if file.st_dev == _memory_device() and stat.S_ISREG(file.st_mode)
    }
    return sum(files.values()) + sum(size for _, _, size in _segments())


def drop_segments() -> None:
    """Remove the segments of this namespace that no process is attached to: nothing else would."""
    for identity, attached, _ in _segments():
        if not attached:
            libc.shmctl(identity, 0, None)  # IPC_RMID


def _segments() -> Iterator[tuple[int, int, int]]:
    """Yield id, number of attached processes, and bytes of each segment."""
    if os.getpid() != 1:  # Landlock's sandbox has none, and without a sandbox they belong to others
        return
    with (
        contextlib.suppress(OSError, ValueError, IndexError),
        open("/proc/sysvipc/shm", "rb", buffering=0) as file,
    ):
        # key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap
        for line in file.read(1 << 20).split(b"\n")[1:]:
            if fields := line.split():
                yield int(fields[1]), int(fields[6]), int(fields[14]) + int(fields[15])


def _open_files(pids: Iterable[int]) -> Iterator[os.stat_result]:
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            for fd in os.listdir(folder):
                yield os.stat(f"{folder}/{fd}")
        except OSError:
            continue  # it ended meanwhile, or may not be read


@cache
def _memory_device() -> int:
    with open(os.memfd_create("probe"), "rb") as probe:
        return os.fstat(probe.fileno()).st_dev

"""How much commands added to the work tree and the temporary folder, without counting it all the time.

What is free on their file systems is asked for at every look, which costs nothing but counts what anybody on the
machine does. So only what lies in the folders counts in the end: they are walked when much is gone, and now and then.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bot.workshop.host.limits import Over

_FREE_SHARE = (9, 10)
"""Of what was free at the start. A full disk would take the journal and the answer with it."""

_BLOCK = 512
_LEAST = 4096
"""Bytes that a file or a folder counts for, an empty one too: a disk also runs out of places for files."""
_TIME_SHARE = 50
"""A walk may take one part in so many of the time."""

_LONGEST_WALK = 2.0


class DiskUse:
    """One for all commands of a workshop; may be asked from any thread. `added` and `allowed` are in bytes, `pause` in
    seconds: two walks are not closer unless much is gone."""

    def __init__(self, folders: Sequence[Path], allowed: int, pause: float = 1.0) -> None:
        self.added = 0
        self._folders = tuple(folders)
        self._devices = {os.stat(folder).st_dev for folder in folders}
        self._began = time.time() - 1  # a file's time is a tick of the kernel's clock behind ours
        self._free = [_free(folder) for folder in folders]
        self.allowed = min(allowed, *(min(free) * _FREE_SHARE[0] // _FREE_SHARE[1] for free in self._free))
        self._pause = pause
        self._gone_at_walk = 0
        self._next_walk = time.monotonic() + pause
        self._lock = threading.Lock()

    def look(self, pids: Iterable[int], before: int) -> Over | None:
        """Whether what was added is over the limit. `before` is `added` as it was when the command began, since one
        that only deletes is let be; `pids` are its processes, which may hold files that have no name any more."""
        with self._lock:
            gone = max(map(_gone, self._free, self._folders))
            much = gone > self.allowed and gone > self._gone_at_walk + self.allowed // 20
            if much or time.monotonic() >= self._next_walk:
                self._gone_at_walk = gone
                self._walk(pids, gone)
            return Over("disk", self.allowed) if self.added > max(self.allowed, before) else None

    def _walk(self, pids: Iterable[int], gone: int) -> None:
        began = time.monotonic()
        counted: dict[tuple[int, int], int] = {}
        endless = False
        for file in self._new_files(pids):
            counted[file.st_dev, file.st_ino] = max(file.st_blocks * _BLOCK, _LEAST)
            if endless := time.monotonic() - began > _LONGEST_WALK:
                break
        self.added = max(sum(counted.values()), gone if endless else 0)
        self._next_walk = began + max(self._pause, (time.monotonic() - began) * _TIME_SHARE)

    def _new_files(self, pids: Iterable[int]) -> Iterator[os.stat_result]:
        """What was made or written since the workshop began. Holes in a file take no blocks."""
        for file in _without_name(pids):
            if file.st_dev in self._devices:
                yield file
        for folder in self._folders:
            yield from (file for file in _beneath(folder) if file.st_ctime >= self._began)


def _free(folder: Path) -> tuple[int, int]:
    """The bytes that its file system still takes, and what the files are worth that it still takes; as many bytes
    where it has no number for these."""
    at = os.statvfs(folder)
    size = at.f_bavail * at.f_frsize
    return size, at.f_favail * _LEAST if at.f_files else size


def _gone(before: tuple[int, int], folder: Path) -> int:
    return max(was - now for was, now in zip(before, _free(folder), strict=True))


def _beneath(folder: Path) -> Iterator[os.stat_result]:
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


def _without_name(pids: Iterable[int]) -> Iterator[os.stat_result]:
    """Files that processes hold open and that were deleted."""
    for pid in pids:
        folder = f"/proc/{pid}/fd"
        try:
            for fd in os.listdir(folder):
                file = os.stat(f"{folder}/{fd}")
                if stat.S_ISREG(file.st_mode) and file.st_nlink == 0:
                    yield file
        except OSError:
            continue  # it ended meanwhile, or lets nobody look

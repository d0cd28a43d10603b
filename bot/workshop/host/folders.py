"""Whether the list of the work tree's files can have changed since it was made, told from stat data alone.

A file cannot come, go or be renamed without the times of its folder moving, nor become ignored or tracked without
a rule file or git's index moving. So after a command that made no file, nobody need ask git for the list again.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_RULES = (".git/index", ".git/info/exclude")

MOST = 60_000
"""Folders, ignored ones included, beyond which looking at each would take longer than asking git."""

RACY = 20_000_000
"""Nanoseconds in which something can change without its times moving: kernels stamp in ticks of 4 to 10 ms."""

Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders and rule files beneath the descriptor `root`, as they were. `None` is for a file that was
    not there; `racy` says that one moved so lately that a further change would not show."""

    root: int
    stamps: Mapping[str, Stamp | None]
    racy: bool

    def still(self) -> bool:
        """Whether it is sure that none of them moved."""
        return not self.racy and all(
            stamp_of(self.root, path) == stamp for path, stamp in self.stamps.items()
        )


def look(root: int) -> Folders | None:
    """The folders as they are; `None` where there are too many. To be called before the list is made: what moves
    meanwhile is seen the next time."""
    now = time.time_ns()
    paths = itertools.chain(_RULES, (".",), _below(root, "."))
    stamps = {path: stamp_of(root, path) for path in itertools.islice(paths, MOST + 1)}
    if len(stamps) > MOST:
        return None
    return Folders(root, stamps, any(stamp and now - stamp[1] < RACY for stamp in stamps.values()))


def stamp_of(root: int, path: str) -> Stamp | None:
    """What moves when the file or folder `path` changes; `None` where there is none. Links are not followed."""
    try:
        found = os.stat(path, dir_fd=root, follow_symlinks=False)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode


def _below(root: int, folder: str) -> Iterator[str]:
    """Folders beneath `folder`, and the rule files in it and in them. A `.git` is never entered."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    except OSError:
        return  # gone meanwhile, or not ours to read: git cannot list it either
    try:
        with os.scandir(fd) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    finally:
        os.close(fd)
    for name, is_folder in names:
        path = name if folder == "." else f"{folder}/{name}"
        if is_folder and name != ".git":
            yield path
            yield from _below(root, path)
        elif name == ".gitignore":
            yield path

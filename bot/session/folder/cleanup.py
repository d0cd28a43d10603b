"""Removes the folders of finished runs, in a process of its own, and what `slash-agent clean` removes.

A finished run has lost its work tree (`RunFolder.finish`); everything else in its folder but the bundle and the journal
is removed. The work tree of a run that died stays, for `salvage`. A process that is killed loses nothing: the one after
the next run continues.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import bot
from bot.session.folder.run_folder import FolderBusy, RunFolder, lock_folder, parent_folder

_START = "import sys; sys.path.insert(0, sys.argv[1]); from bot.session.folder.cleanup import main; main()"


@contextmanager
def cleaning_up_after(environment: Mapping[str, str]) -> Iterator[None]:
    """Start the cleanup when the block ends, also by an exception."""
    try:
        yield
    finally:
        clean_up_later(environment)


def clean_up_later(environment: Mapping[str, str]) -> None:
    """Start a process that removes the trees of finished runs, and return at once. On a runner nothing is started: its
    disk is thrown away. If no process can be started, the next run tries again."""
    if environment.get("RUNNER_TEMP"):
        return
    package = str(Path(bot.__file__).resolve().parents[1])
    argv = [sys.executable, "-I", "-S", "-c", _START, package, str(parent_folder(environment))]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    with suppress(OSError):
        os.posix_spawn(sys.executable, argv, {}, file_actions=nowhere, setsid=True)


def clean_up(parent: Path) -> None:
    """Remove what the runs under `parent` no longer need, except of runs that a process works in."""
    for root in sorted(parent.iterdir(), reverse=True):
        folder = RunFolder(root)
        with suppress(OSError, FolderBusy):
            with lock_folder(root):
                folder.set_aside()
            folder.remove_set_aside()


def is_busy(folder: RunFolder) -> bool:
    """Whether a process works in it now."""
    try:
        with lock_folder(folder.root):
            return False
    except FolderBusy:
        return True


def remove_run(folder: RunFolder, *, finished: bool) -> bool:
    """Remove all of a run; with `finished` only if its work tree is gone. `False` if it stays. Raises `OSError`."""
    try:
        with lock_folder(folder.root):
            if finished and folder.has_tree:
                return False
            folder.finish()  # what is left by half a removal must not be taken for what the run made
            folder.drop()
            return True
    except FolderBusy:
        return False


def size_of(root: Path) -> int:
    """Bytes on the disk, without what links lead to."""
    total, ahead = 0, [root]
    while ahead:
        with suppress(OSError), os.scandir(ahead.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        ahead.append(Path(entry.path))
    return total


def main() -> None:
    os.chdir("/")
    os.nice(10)
    clean_up(Path(sys.argv[2]))

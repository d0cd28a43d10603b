"""Removes what finished runs leave behind, in a process of its own: nobody waits for it.

A finished run has lost its work tree (`RunFolder.finish`); everything else in its folder but the bundle and the
journal is garbage. A process that is killed halfway loses nothing: the one after the next run goes on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import bot
from bot.run.folder import RunFolder, parent_folder
from bot.run.lock import FolderBusy, held

_START = "import sys; sys.path.insert(0, sys.argv[1]); from bot.run.cleanup import main; main()"


def clean_up_later(environment: Mapping[str, str]) -> None:
    """Start a process that removes the trees of finished runs; at once back. A runner throws its disk away: nothing
    is started there. If no process can be started, the next run tries again."""
    if environment.get("RUNNER_TEMP"):
        return
    package = str(Path(bot.__file__).resolve().parents[1])
    argv = [sys.executable, "-I", "-S", "-c", _START, package, str(parent_folder(environment))]
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
    with suppress(OSError):
        os.posix_spawn(sys.executable, argv, {}, file_actions=nowhere, setsid=True)


def clean_up(parent: Path) -> None:
    """Remove what the finished runs under `parent` no longer need. A run that another process works in is left alone,
    and so is one whose work tree is still there: `salvage` can take that."""
    for root in sorted(parent.iterdir(), reverse=True):
        folder = RunFolder(root)
        with suppress(OSError, FolderBusy), held(root):
            if not folder.has_tree:
                folder.drop_trees()


def main() -> None:
    os.chdir("/")
    os.nice(10)
    clean_up(Path(sys.argv[2]))

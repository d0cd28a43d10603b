"""The list of the work tree's files, kept between calls: git is asked again only where a folder or a rule moved."""

from __future__ import annotations

import os
from pathlib import Path

from bot.workshop.host import folders, listing
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.listing import Listed

_FREE = 1000
_FILES_A_FOLDER = 5
"""Looking at a folder costs as much as git takes to list five files. Where there are more folders than that (a
large `node_modules` beside few files), git is asked each time."""


class KnownFiles:
    """One a workshop. Not thread-safe: the host works on one thing at a time."""

    def __init__(self, root: Path, tmp: Path, cancelled: Cancellation) -> None:
        self._root = root
        self._tmp = tmp
        self._cancelled = cancelled
        self._fd = -1
        self._folders: folders.Folders | None = None
        self._worth_looking = True
        self._names: list[str] = []
        self._untracked: list[str] = []

    def names(self, below: str = "") -> list[str]:
        """What `listing.files` says of the whole tree, or of the folder `below`. Not to be changed."""
        if not self._still():
            self._ask()
        return _below(self._names, below)

    def seen(self, below: str = "") -> Listed | None:
        """The same with what git's index does not list told apart; `None` where git would have to be asked."""
        if not self._still():
            return None
        return Listed(_below(self._names, below), _below(self._untracked, below))

    def _still(self) -> bool:
        return self._folders is not None and self._folders.still()

    def _ask(self) -> None:
        if self._fd < 0:
            self._fd = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folders = None
        looked = folders.look(self._fd) if self._worth_looking else None
        listed = listing.listed(self._root, tmp=self._tmp, cancelled=self._cancelled)
        self._names, self._untracked = listed.names, listed.untracked or []
        # A list that git did not make, having been cancelled or being absent, is good for this once.
        if looked is None or listed.untracked is None:
            return
        self._worth_looking = len(looked.stamps) <= _FREE + len(listed.names) // _FILES_A_FOLDER
        self._folders = looked if self._worth_looking else None


def _below(names: list[str], folder: str) -> list[str]:
    return [name for name in names if name.startswith(f"{folder}/")] if folder else names

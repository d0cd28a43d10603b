"""Take over folders that commands wrote, once all of them are dead. No link is followed and no file is opened."""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from bot.workspace.dependencies import folders_of


def move_untracked(tree: Path, output: Path, *, tracked: Collection[str], shared: Collection[str]) -> None:
    """Move what is in `tree` to the same paths in the new folder `output`, but for `.git`, the `tracked` files and the
    `shared` folders. Raises `OSError`."""
    output.mkdir()
    parents = folders_of((*tracked, *shared))
    ahead = [""]
    while ahead:
        for entry in _entries(os.path.join(tree, ahead.pop())):
            path = os.path.relpath(entry.path, tree)
            if path in tracked or path in shared or path == ".git":
                continue
            if path in parents and entry.is_dir(follow_symlinks=False):
                ahead.append(path)
            else:
                _move(entry, output / path)


def remove_special_files(folder: Path) -> None:
    """Remove sockets, FIFOs and devices: a socket answers through a read-only mount as well. Raises `OSError`."""
    ahead = [str(folder)] if folder.resolve() == folder else []  # else it is shown to nobody
    while ahead:
        for entry in _entries(ahead.pop()):
            if entry.is_dir(follow_symlinks=False):
                ahead.append(entry.path)
            elif not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                os.unlink(entry.path)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except PermissionError:
        return  # closed to its owner, inside as well


def _move(entry: os.DirEntry[str], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(entry.path, target)
    except PermissionError:
        # To move a folder is to write in it.
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        os.chmod(entry.path, mode | stat.S_IRWXU)
        os.rename(entry.path, target)
        os.chmod(target, mode)

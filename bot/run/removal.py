"""Removes a folder that commands wrote in, whatever they made of it: closed folders, folders in folders without end.

`shutil.rmtree` calls itself for each level: a thousand of them ended the program, with all that a run had come to.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(folder: Path) -> None:
    """No process of the workshop may be alive; what goes by itself in the meantime is no error. Raises `OSError`."""
    with contextlib.suppress(FileNotFoundError):
        top = _opened(str(folder), None)
        try:
            fresh = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())
            while names := os.listdir(top):
                for name in names:
                    with contextlib.suppress(FileNotFoundError):
                        _take_apart(top, name, fresh)
        finally:
            os.close(top)
        os.rmdir(folder)


def _take_apart(top: int, name: str, fresh: Iterator[str]) -> None:
    """Remove `name` with its files. The folders in it come to lie in `top`, so that it never goes deeper than this."""
    if not _is_folder(name, top):
        os.unlink(name, dir_fd=top)
        return
    folder = _opened(name, top)
    try:
        for inner in os.listdir(folder):
            if not _is_folder(inner, folder):
                os.unlink(inner, dir_fd=folder)
                continue
            os.chmod(inner, 0o700, dir_fd=folder)  # to move a folder is to write in it
            os.rename(inner, next(fresh), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _is_folder(name: str, at: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode)


def _opened(name: str, at: int | None) -> int:
    """A folder, open to its owner from now on."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=at)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=at)
        folder = os.open(name, _FOLDER, dir_fd=at)
    os.fchmod(folder, 0o700)
    return folder

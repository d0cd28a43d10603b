"""Change several files as a whole: write all new bytes beside their files, then rename them into place, deletions last;
undo the steps before one that fails.

A reader, a crash or a full disk never leaves half a file.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """One file. `before` is its bytes now, `None` for absent; `after` what it is to hold, `None` for deleted. `mode`
    is the permission bits that it has or is to have; `None` for what new files get."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


class StepFailed(Exception):
    """The step for `path` failed with `error`. `torn` are files that could not be restored."""

    def __init__(self, path: Path, error: OSError, torn: Sequence[Path]) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error
        self.torn = tuple(torn)


def apply_steps(steps: Sequence[Step]) -> None:
    """Carry out all steps, or none: raises `StepFailed`."""
    ordered = sorted(steps, key=lambda step: step.after is None)  # stable: deletions last, else as they came
    temporaries: list[str] = []
    folders: list[Path] = []
    done: list[Step] = []
    step = ordered[0]
    try:
        for step in ordered:
            if step.after is not None:
                _make_folders(step.path.parent, folders)
            temporaries.append("" if step.after is None else write_beside(step.path, step.after, step.mode))
        for step, temporary in zip(ordered, temporaries, strict=True):
            put(step, temporary)
            done.append(step)
    except OSError as error:
        raise StepFailed(step.path, error, _undo(done)) from None
    except BaseException:
        _undo(done)
        raise
    finally:
        for temporary in filter(None, temporaries):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        for folder in reversed(folders):
            with contextlib.suppress(OSError):  # not empty: what was put is in it, or somebody else's
                folder.rmdir()


def put(step: Step, temporary: str) -> None:
    """Make a step visible. Raises `OSError`, `FileExistsError` where a file to create is there meanwhile."""
    if step.before is None:
        if os.path.lexists(step.path):
            raise FileExistsError(17, "it is there already", str(step.path))
    elif not stat.S_ISREG(os.lstat(step.path).st_mode):
        raise FileNotFoundError(2, "no regular file any more", str(step.path))
    if step.after is None:
        os.unlink(step.path)
    else:
        os.replace(temporary, step.path)


def write_beside(path: Path, data: bytes, mode: int | None) -> str:
    """A new file in the folder of `path` with these bytes; its name. Without a `mode` it gets the one a new file gets
    there."""
    name = f"{path.parent}/.slash-agent-{os.urandom(8).hex()}.tmp"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
    except BaseException:
        os.unlink(name)
        raise
    return name


def _undo(done: Sequence[Step]) -> list[Path]:
    """Undo the steps, the newest first; return the files for which that failed."""
    torn: list[Path] = []
    for step in reversed(done):
        try:
            if step.before is None:
                os.unlink(step.path)
            else:
                os.replace(write_beside(step.path, step.before, step.mode), step.path)
        except OSError:
            torn.append(step.path)
    return torn


def _make_folders(folder: Path, created: list[Path]) -> None:
    """Create the missing folders, and add them to `created` from the top."""
    missing: list[Path] = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = folder.parent
    for parent in reversed(missing):
        if os.path.lexists(parent):
            raise NotADirectoryError(20, os.strerror(20), str(parent))
        parent.mkdir()
        created.append(parent)

"""One run a run folder, also across processes (S-029). The lock is the kernel's: it dies with the process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.contracts.errors import AgentError, ExitCode


class FolderBusy(AgentError):
    """Another run has the folder."""

    exit_code = ExitCode.UNAVAILABLE


@contextmanager
def held(root: Path) -> Iterator[None]:
    """Have the run folder `root` for oneself. Raises `FolderBusy` at once where another run has it.

    The folder itself is locked, so nothing is left in it, and no child inherits the lock.
    """
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FolderBusy(
                f"busy: another run works in {root}. Wait for its end, or end it, and ask again."
            ) from error
        yield
    finally:
        os.close(descriptor)

"""Carry the shell's working folder over from one command to the next: bash writes its last folder to a file, the note,
and the host reads it.

BASH_ENV names a script that bash reads before the command, so that the command itself is unchanged, in bash's error
messages too. Commands can write where script and note are, so both are new for each command, and the host reads the
note by the descriptor with which it created it.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from pathlib import Path

_LONGEST = 16 * 1024
"""Bytes of a note, four times what the kernel takes for a path."""


class FolderNote:
    """The note of one command, the `seq`-th call, in a folder in which commands may write."""

    def __init__(self, folder: Path, seq: int) -> None:
        self._note = os.path.join(folder, f".cwd-{seq}")
        self._script = f"{self._note}.sh"
        self._fd = -1

    def variables(self) -> dict[str, str]:
        """The variables for the command's environment; empty if the files cannot be written, since commands must run on
        a full disk too."""
        try:
            self._unlink()
            with open(self._script, "xb") as file:
                file.write(os.fsencode(_trap(self._note)))
            self._fd = os.open(self._note, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError:
            return {}
        return {"BASH_ENV": re.sub(r'([$`"\\])', r"\\\1", self._script)}  # bash expands the value

    def take(self) -> str | None:
        """The shell's last folder; empty if that was removed. `None` if it wrote no note: it was killed, replaced by
        `exec`, had an exit trap of its own, or could not write."""
        self._unlink()
        if self._fd < 0:
            return None
        left = os.pread(self._fd, _LONGEST, 0)
        os.close(self._fd)
        return os.fsdecode(left.removesuffix(b"\n")) if left else None

    def _unlink(self) -> None:
        for path in (self._note, self._script):
            with suppress(OSError):
                os.unlink(path)


def _trap(note: str) -> str:
    """The script: it writes an empty line for a folder that was removed. The braces silence `set -x`."""
    write = f"{{ {{ pwd -P || echo; }} >>{shlex.quote(note)}; }} 2>/dev/null"
    return f"unset BASH_ENV; trap {shlex.quote(write)} EXIT\n"

"""The full output of one command, in a file outside the work tree, up to a cap."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

CAP = 50 * 1024 * 1024
"""Bytes of one command's output that are kept; the rest is counted and dropped."""


class Spill:
    """A sink for `shell.run_command`. A context manager; the file stays after it."""

    def __init__(self, folder: Path, seq: int, cap: int = CAP) -> None:
        self.path = folder / f"{seq:04d}.txt"
        self.total = 0
        self.kept = 0
        self.newlines = 0
        self._cap = cap
        # Read back through the same descriptor: the command may write in this folder and swap the file.
        self._file = open(self.path, "w+b", buffering=0)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __call__(self, piece: bytes) -> bool:
        self.total += len(piece)
        self.newlines += piece.count(b"\n")
        room = self._cap - self.kept
        if room > 0:
            self.kept += self._file.write(piece[:room])
        return False

    def read(self, start: int, size: int) -> bytes:
        """Up to `size` bytes of what was kept, from byte `start` on."""
        self._file.seek(start)
        return self._file.read(min(size, self.kept - start))

"""The whole output of one command as plain text, in a file outside the work tree that `view` and `grep` can read.

Of more than a file may hold, the end is kept besides the beginning, since errors are at the end.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType

from bot.workshop.host.terminal import Terminal

CAP = 50 * 1024 * 1024
"""Bytes of one command's text that are kept from its beginning."""

END = 512 * 1024
"""Bytes that are kept from the end of longer text."""

_SNIFF = 8192
_NEAR = 2048
_LONGEST_LINE = 200


class Spill:
    """A sink for `shell.run_command`, which may write on another thread than the one that reads. A context manager
    that makes the file, which stays after it; `open` and `close` do the same by hand.

    `path` is where the file is, once it is open. `cap` is in bytes of text. `total` counts the bytes the program wrote,
    `size` and `newlines` those of the text they make, `left_out` what is not in the file; none of them stops at the
    cap. `binary` is true for output that is no text: it is kept raw.
    """

    path: Path

    def __init__(self, folder: Path, seq: int, cap: int = CAP) -> None:
        self.total = 0
        self.size = 0
        self.newlines = 0
        self.left_out = 0
        self.binary = False
        self.last_at = time.monotonic()
        self.cap = cap
        self._folder, self._seq = folder, seq
        self._held = 0
        self._end = bytearray()
        self._terminal = Terminal()
        self._lock = Lock()
        self._fd = -1

    def open(self) -> None:
        """Make the file. Before that nothing can be put into it. Raises `OSError`."""
        # Not before: a command that is to start waits for that.
        self.path = self._folder / f"{self._seq:04d}.txt"
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        # Read back through the same descriptor: the command may write in this folder and swap the file.
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def __enter__(self) -> Spill:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, piece: bytes) -> bool:
        with self._lock:
            self.last_at = time.monotonic()
            if self.total < _SNIFF and b"\0" in piece[: _SNIFF - self.total]:
                self.binary = True
            self.total += len(piece)
            self._keep(piece if self.binary else self._terminal.take(piece))
        return False

    def finish(self) -> None:
        """The program ended: what is held back goes into the file."""
        with self._lock:
            self._keep(self._terminal.finish())
            if self._end:
                self._append_end()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def held(self) -> int:
        """Bytes in the file."""
        return self._held

    def read(self, start: int, size: int) -> bytes:
        """Up to `size` bytes of the file, from byte `start` on."""
        return os.pread(self._fd, max(0, min(size, self._held - start)), start)

    def last(self, size: int) -> bytes:
        """Up to `size` bytes from the end of the text."""
        with self._lock:
            if self._end:
                return bytes(self._end[-size:])
        return self.read(max(0, self._held - size), size)

    def last_line(self) -> str:
        """The last line with something in it, cut; empty for output that is no text."""
        if self.binary or self._fd < 0:
            return ""
        text = self.last(_NEAR).decode("utf-8", "replace")
        return next(
            (line.strip()[:_LONGEST_LINE] for line in reversed(text.splitlines()) if line.strip()), ""
        )

    def unfinished(self) -> bytes:
        """What there is of a line that the program has not ended yet."""
        with self._lock:
            return self._terminal.unfinished()

    def _keep(self, text: bytes) -> None:
        self.size += len(text)
        self.newlines += text.count(b"\n")
        room = max(self.cap - self._held, 0)
        if room:
            self._held += _write(self._fd, text[:room], self._held)
        if len(text) > room:
            self._end += text[room:]
            self.left_out += len(text) - room
            if len(self._end) > 2 * END:
                del self._end[:-END]

    def _append_end(self) -> None:
        end = bytes(self._end[-END:])
        self._end.clear()
        note = b""
        if self.left_out > len(end):
            end = end[end.find(b"\n") + 1 :]  # from the beginning of a line on
            note = b"\n[%d bytes are left out here]\n" % (self.left_out - len(end))
        self.left_out -= len(end)
        self._held += _write(self._fd, note + end, self._held)


def _write(fd: int, text: bytes | bytearray, at: int) -> int:
    """All of `text` at the byte `at`; a full disk raises."""
    view = memoryview(text)
    done = 0
    while done < len(view):
        done += os.pwrite(fd, view[done:], at + done)
    return done

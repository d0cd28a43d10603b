"""The program on a pseudo-terminal: its output, the resulting screen, and typed input."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.support.warm import LIMIT, Forked

_SEQUENCE = re.compile(rb"\x1b\[([0-9;?]*)([A-Za-z])")


class Terminal:
    """`argv`, as of `command`, with all of its standard streams on one terminal. `cold` as of a stage's."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], *, columns: int = 100, rows: int = 30,
        cwd: Path | None = None, cold: bool = False,
    ) -> None:  # fmt: skip
        self._master, slave = os.openpty()
        self._output = bytearray()
        self._changed = threading.Condition()
        self._code: int | None = None
        self.resize(columns, rows)
        env = {"TERM": "xterm-256color", **environment}
        self._program: subprocess.Popen[bytes] | Forked
        if cold:
            self._program = subprocess.Popen(
                [*argv], env=env, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
            )
        else:
            self._program = Forked(argv[4:], env, cwd, [slave] * 3)
        self.pid = self._program.pid
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def raw(self) -> bytes:
        """Everything that was written so far."""
        return bytes(self._output)

    @property
    def text(self) -> str:
        """The output without escape sequences."""
        return _SEQUENCE.sub(b"", self.raw).decode("utf-8", "replace").replace("\r\n", "\n")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until `text` was written `times` times."""
        deadline = time.monotonic() + LIMIT
        with self._changed:
            while self.text.count(text) < times:
                if not self._reader.is_alive() or not self._changed.wait(min(1, deadline - time.monotonic())):
                    assert self._reader.is_alive() or self.text.count(text) >= times, self.text
                    assert time.monotonic() < deadline, self.text

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def resize(self, columns: int, rows: int = 30) -> None:
        self.columns, self.rows = columns, rows
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def kill(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def end(self) -> int:
        """Wait for it; its exit code."""
        self._code = self._program.wait(LIMIT)
        self._reader.join(LIMIT)
        return self._code

    @property
    def screen(self) -> list[str]:
        """The lines on the screen and above it, if the terminal was never resized."""
        return rendered(self.raw, self.columns, self.rows)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        if self._code is None:
            self._program.wait(LIMIT)
        self._reader.join(LIMIT)
        os.close(self._master)

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._master, 1 << 16)
            except OSError:  # nobody has the other end any more
                piece = b""
            with self._changed:
                self._output += piece
                self._changed.notify_all()
            if not piece:
                return


def rendered(raw: bytes, columns: int, rows: int) -> list[str]:
    """The lines that a terminal shows for `raw`, with those that scrolled away. Raises `ValueError` for a sequence
    other than colours, up, to the left and erase line."""
    lines: list[list[str]] = [[]]
    row = column = 0
    text = raw
    offset = 0
    while offset < len(text):
        if match := _SEQUENCE.match(text, offset):
            offset = match.end()
            number, letter = match[1].decode(), match[2].decode()
            if letter == "A":
                row = max(row - int(number or 1), len(lines) - rows, 0)
            elif letter == "K" and number == "2":
                lines[row] = []
            elif letter != "m":
                raise ValueError(f"a sequence that we do not write: {match[0]!r}")
            continue
        first = text[offset]
        size = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        character = text[offset : offset + size].decode("utf-8", "replace")
        offset += size
        if character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            if row == len(lines):
                lines.append([])
        elif character < " " or character == "\x7f":
            raise ValueError(f"a control character reached the terminal: {character!r}")
        else:
            if column == columns:
                column, row = 0, row + 1
                if row == len(lines):
                    lines.append([])
            line = lines[row]
            line += " " * (column + 1 - len(line))
            line[column] = character
            column += 1
    return ["".join(line).rstrip() for line in lines]

"""Run a program of ours on an untrusted file inside the sandbox, in a process without keys, network and files.

The process is as hostile as the file: its output is limited, and the caller validates it.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.contracts.errors import NoSandboxError
from bot.workspace import start
from bot.workspace.process import HostProcess, WorkspaceError
from bot.workspace.sandbox.confinement import Confinement, Mounts


class RejectedFile(Exception):
    """Why a file is rejected, as a clause."""


PROGRAM = Path(__file__).resolve().with_name("read_inside.py")


class ConfinedReader:
    """`folder` is empty and used only here: it replaces the work tree of the process, which may take `seconds`."""

    def __init__(self, confinement: Confinement, folder: Path, seconds: float = 30.0) -> None:
        self.confinement = confinement
        self._folder = folder
        self._seconds = seconds

    def run(
        self, arguments: tuple[str, ...], packages: tuple[Path, ...], data: bytes, max_output: int
    ) -> bytes:
        """Return the output of `read_inside.py` for `data`, which it reads from standard input after an eight-byte
        length: at most `max_output` bytes. `packages` are the folders that it may import. Raises `RejectedFile`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        empty = self._folder.resolve()
        parts = ((part, str(part)) for part in (PROGRAM, *packages))
        mounts = Mounts(empty, str(empty), program=(*start.host_program(), *parts))
        argv = [start.interpreter(), "-I", "-S", str(PROGRAM), *arguments]
        try:
            process = HostProcess(self.confinement, argv, mounts)
            output, stdin = process.pipes
            try:
                return _exchange(output, stdin, data, time.monotonic() + self._seconds, max_output)
            finally:
                os.close(output)
                os.close(stdin)
                process.kill()
        except (WorkspaceError, NoSandboxError) as error:
            raise RejectedFile("the sandbox to read it in did not work") from error


def split_output(output: bytes, max_head: int, reasons: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
    """Return the header and the contents, which are as hostile as the file. Raises `RejectedFile` for a rejected one,
    and any of `MALFORMED` for what is no output of ours."""
    head, _, contents = output.partition(b"\n")
    header = json.loads(head[:max_head] or b"{}")
    if "no" in header:
        raise RejectedFile(reasons.get(header["no"], reasons["damaged"]))
    return header, contents


MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def _exchange(output: int, stdin: int, data: bytes, deadline: float, max_output: int) -> bytes:
    """Write the length and the file, read the output until its end. Closing the pipe would end the process."""
    answer, view = bytearray(), memoryview(len(data).to_bytes(8, "big") + data)
    os.set_blocking(output, False)
    os.set_blocking(stdin, False)
    while True:
        poller = select.poll()
        poller.register(output, select.POLLIN)
        if view:
            poller.register(stdin, select.POLLOUT)
        ready = dict(poller.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if not ready:
            raise RejectedFile("reading it took too long")
        if stdin in ready:
            view = view[_write(stdin, view) :]
        if output in ready:
            piece = os.read(output, 1 << 18)
            if not piece:
                return bytes(answer)
            answer += piece
            if len(answer) > max_output:
                raise RejectedFile("what came of it is too large")


def _write(fd: int, view: memoryview) -> int:
    try:
        return os.write(fd, view)
    except BlockingIOError:
        return 0
    except OSError:
        return len(view)  # it ended before it had read all: what it says, or does not, is the answer

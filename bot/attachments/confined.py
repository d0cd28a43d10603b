"""Run a program of ours on an untrusted file inside the sandbox, in a process without keys, network and files.

The process is as hostile as the file: its output is limited, and the caller validates it.
"""

from __future__ import annotations

import os
import select
import time
from pathlib import Path
from typing import NamedTuple

from bot.contracts.errors import NoSandboxError
from bot.workspace import start
from bot.workspace.process import HostProcess, WorkspaceError
from bot.workspace.sandbox.confinement import Confinement, Mounts


class RejectedFile(Exception):
    """Why a file is rejected, as a clause."""


class Program(NamedTuple):
    """`argv` is the script and its arguments, `parts` are the mounted files. Its output is limited to
    `max_output` bytes and its time to `seconds`."""

    argv: tuple[str, ...]
    parts: tuple[tuple[Path, str], ...]
    max_output: int
    seconds: float


def run_confined(confinement: Confinement, folder: Path, program: Program, data: bytes) -> bytes:
    """Return the output of `program` for `data`, which it reads from standard input after an eight-byte length.
    `folder` is empty and replaces the work tree. Raises `RejectedFile`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    empty = folder.resolve()
    mounts = Mounts(empty, str(empty), program=(*start.host_program(), *program.parts))
    argv = [start.interpreter(), "-I", "-S", *program.argv]
    try:
        process = HostProcess(confinement, argv, mounts, {})
        output, stdin = process.pipes
        try:
            return _exchange(output, stdin, data, time.monotonic() + program.seconds, program.max_output)
        finally:
            os.close(output)
            os.close(stdin)
            process.kill()
    except (WorkspaceError, NoSandboxError) as error:
        raise RejectedFile("the sandbox to read it in did not work") from error


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

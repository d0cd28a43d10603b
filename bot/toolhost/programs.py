"""Run programs of the host itself (git, a search program) with limits and cancellation; keep a register of the host's
own children."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol

from bot.toolhost.descendants import kill_group

if TYPE_CHECKING:
    import subprocess

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for what ran out of time or was cancelled."""

_TICK_MS = 50
"""Milliseconds between two looks at the size of a program's output."""

_MOST_ERRORS = 4096


class ProgramResult(NamedTuple):
    """A program that ended. `exit_code` is negative for a signal, as `subprocess` has it. `output` is its standard
    output, `errors` the beginning of its standard error. `capped` is true when it was stopped because it wrote more
    than it was allowed."""

    exit_code: int
    output: bytes
    timed_out: bool
    cancelled: bool
    errors: bytes
    capped: bool

    @property
    def last_words(self) -> str:
        """The last line of `errors`, empty for none."""
        return ["", *self.errors.decode("utf-8", "replace").strip().splitlines()][-1]


class Cancellation:
    """Like `threading.Event`, with a file descriptor that is readable while it is set."""

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        os.eventfd_write(self._fd, 1)

    def clear(self) -> None:
        self._set = False
        try:
            os.eventfd_read(self._fd)
        except BlockingIOError:
            return  # it was not set

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        os.close(self._fd)


class Child(Protocol):
    """`returncode` is `None` until it is waited for."""

    @property
    def pid(self) -> int: ...

    returncode: Any


_lock = threading.RLock()
_children: list[Child] = []


def start_program(argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """As `subprocess.Popen`. Raises `OSError`."""
    import subprocess  # a host that starts no program of its own does without it

    with starts_blocked():  # around the fork as well: an unregistered process looks like an orphan
        process = subprocess.Popen(argv, **how)
        register(process)
        return process


def register(process: Child) -> None:
    """Register a child that was started in the same block of `starts_blocked`."""
    _children.append(process)


@contextlib.contextmanager
def starts_blocked() -> Iterator[frozenset[int]]:
    """Block starts; yield the ids of children that were not reaped. The system may reuse the ids of others."""
    with _lock:
        _children[:] = [process for process in _children if process.returncode is None]
        yield frozenset(process.pid for process in _children)


def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cap: int,
    cancelled: Cancellation,
    stdin: bytes = b"",
) -> ProgramResult:
    """Run `argv` and return its output, at most `cap` bytes; it is killed a moment after it wrote more. `timeout` is in
    seconds. Raises `OSError` when the program cannot be started, or was cancelled before."""
    if cancelled.is_set():
        raise OSError(errno.ECANCELED, "it was cancelled")
    deadline = time.monotonic() + timeout
    with _in_memory(stdin) as source, _in_memory() as output, _in_memory() as errors:
        process = start_program(
            list(argv),
            cwd=cwd,
            env=dict(environment),
            stdin=source,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            ended = _wait(process.pid, deadline, cancelled, output, cap)
        finally:
            kill_group(process.pid)  # with processes that it left running
            exit_code = process.wait()
        capped = os.fstat(output.fileno()).st_size > cap
        return ProgramResult(
            exit_code,
            os.pread(output.fileno(), cap, 0),
            timed_out=not ended and not capped and not cancelled.is_set(),
            cancelled=not ended and cancelled.is_set(),
            errors=os.pread(errors.fileno(), _MOST_ERRORS, 0),
            capped=capped,
        )


def _in_memory(content: bytes = b"") -> BinaryIO:
    """An anonymous file: a program that reads or writes one never waits for us."""
    file = open(os.memfd_create("stream", os.MFD_CLOEXEC), "w+b", buffering=0)  # noqa: SIM115 - the caller closes it
    file.write(content)
    file.seek(0)
    return file


def _wait(pid: int, deadline: float, cancelled: Cancellation, output: BinaryIO, cap: int) -> bool:
    """Whether the process ended, before the deadline, a cancellation, and before it wrote over `cap` bytes."""
    with open(os.pidfd_open(pid), "rb", 0) as ended:
        poll = select.poll()
        for one in (ended, cancelled):
            poll.register(one, select.POLLIN)
        ready: list[tuple[int, int]] = []
        while not ready and time.monotonic() < deadline and os.fstat(output.fileno()).st_size <= cap:
            ready = poll.poll(_TICK_MS)
        return any(fd == ended.fileno() for fd, _ in ready)

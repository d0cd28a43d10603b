"""Run programs of the host itself (git, a search program) with limits and cancellation; keep a register of the host's
own children.

Output goes through pipes. The loop ends with the process, not with the pipe, so a child that keeps the pipe open does
not block it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from bot.toolhost.descendants import signal_group

if TYPE_CHECKING:
    import subprocess

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for what ran out of time or was cancelled."""

_DRAIN_GRACE = 0.1


class ProgramResult(NamedTuple):
    """A program that ended. `exit_code` is negative for a signal, as `subprocess` has it; `duration` is in
    seconds. `output` is its standard output, `errors` the beginning of its standard error. `capped` is true
    when it was stopped because it wrote more than it was allowed."""

    exit_code: int
    output: bytes
    timed_out: bool
    cancelled: bool
    duration: float
    errors: bytes = b""
    capped: bool = False


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


T = TypeVar("T", bound=Child)

_lock = threading.RLock()
_children: list[Child] = []


def start_program(argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """As `subprocess.Popen`. Raises `OSError`."""
    import subprocess  # a host that starts no program of its own does without it

    return register_child(lambda: subprocess.Popen(argv, **how))


def register_child(start: Callable[[], T]) -> T:
    """Call `start` and register the process that it returns."""
    with _lock:  # around the fork as well: an unregistered process looks like an orphan
        process = start()
        _children.append(process)
        return process


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
    """Run `argv` and return its output, at most `cap` bytes. `timeout` is in seconds. Raises `OSError` when the program
    cannot be started."""
    import subprocess

    output, errors = Buffer(cap), Buffer(4096, keep_going=True)
    source = _as_file(stdin)
    began = time.monotonic()
    try:
        process = start_program(
            list(argv),
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL if source is None else source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    finally:
        if source is not None:
            os.close(source)
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        try:
            stopped = _watch(
                process.pid,
                {process.stdout.fileno(): output, process.stderr.fileno(): errors},
                began + timeout,
                cancelled,
            )
        finally:
            signal_group(process.pid, signal.SIGKILL)  # processes that it left running
            exit_code = process.wait()
    return ProgramResult(
        exit_code,
        bytes(output.data),
        stopped.late,
        stopped.cancelled,
        time.monotonic() - began,
        bytes(errors.data),
        output.full,
    )


def _as_file(content: bytes) -> int | None:
    """`content` as an anonymous file to read from, so that feeding a program can never deadlock."""
    if not content:
        return None
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class _Stopped:
    """Why a program was told to end, if it was."""

    def __init__(self, late: bool = False, cancelled: bool = False) -> None:
        self.late = late
        self.cancelled = cancelled

    def __bool__(self) -> bool:
        return self.late or self.cancelled


def _watch(pid: int, sinks: dict[int, Sink], deadline: float, cancelled: Cancellation) -> _Stopped:
    """Pump output until the process ends. Returns whether time ran out or it was cancelled."""
    pidfd = os.pidfd_open(pid)
    try:
        stopped = _watch_until(pidfd, pid, sinks, deadline, cancelled)
    finally:
        os.close(pidfd)
    _drain(sinks)
    return stopped


def _watch_until(
    pidfd: int, pid: int, sinks: dict[int, Sink], deadline: float, cancelled: Cancellation
) -> _Stopped:
    poll = select.poll()
    for fd in (pidfd, *sinks):
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    poll.register(cancelled.fileno(), select.POLLIN)
    stopped = _Stopped()
    while True:
        ready = {fd for fd, _ in poll.poll(milliseconds_to(deadline))}
        for fd in ready & sinks.keys():
            open_still, enough = pump(fd, sinks[fd])
            if not open_still:
                poll.unregister(fd)
                del sinks[fd]
            if enough:
                signal_group(pid, signal.SIGKILL)
        if pidfd in ready:
            return stopped
        late = time.monotonic() >= deadline
        if stopped and late:
            signal_group(pid, signal.SIGKILL)
            deadline += TERM_GRACE
        elif not stopped and (late or cancelled.fileno() in ready):
            stopped = _Stopped(not cancelled.is_set(), cancelled.is_set())
            poll.unregister(cancelled.fileno())
            signal_group(pid, signal.SIGTERM)
            deadline = time.monotonic() + TERM_GRACE


def _drain(sinks: dict[int, Sink]) -> None:
    """Read the rest of the pipes after the process ended. If another process still holds one (`> >(tee log)`, a
    server in the background), it gets a short grace."""
    deadline = time.monotonic() + _DRAIN_GRACE
    poll = select.poll()
    for fd in sinks:
        poll.register(fd, select.POLLIN)
    late = False
    while sinks and not late:
        left = milliseconds_to(deadline)
        late = not left  # poll once more even so: the machine may have been suspended
        for fd, _ in poll.poll(left):
            open_still, enough = pump(fd, sinks[fd])
            if enough or not open_still:
                poll.unregister(fd)
                del sinks[fd]


def milliseconds_to(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic()) * 1000


_CHUNK = 1 << 16
_ROUNDS = 16

Sink = Callable[[bytes], bool]
"""Takes a piece of output; true when it has enough and the program may be stopped."""


class Buffer:
    """A sink that keeps the first `cap` bytes and then asks to stop, or goes on dropping (`keep_going`)."""

    def __init__(self, cap: int, *, keep_going: bool = False) -> None:
        self.data = bytearray()
        self.full = False
        self._cap = cap
        self._keep_going = keep_going

    def __call__(self, piece: bytes) -> bool:
        remaining = self._cap - len(self.data)
        self.full = self.full or len(piece) > remaining
        self.data += piece[: max(remaining, 0)]
        return self.full and not self._keep_going


def pump(fd: int, sink: Sink) -> tuple[bool, bool]:
    """Move the pipe's data to the sink. Returns whether the pipe is still open and whether to stop. One call is
    bounded, so that a command that writes without end does not delay its deadline."""
    for _ in range(_ROUNDS):
        try:
            piece = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True, False
        if not piece:
            return False, False
        if sink(piece):
            return True, True
    return True, False

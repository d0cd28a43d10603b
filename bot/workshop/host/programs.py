"""Programs that the host starts for itself (git, a search program): bounded, killable, never waited for longer than
they live.

Output goes through pipes; the loop ends with the process and not with the pipe, so a child of it that keeps the pipe
open holds nothing up.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.workshop.host import own
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.descendants import signal_group
from bot.workshop.host.pump import Buffer, Sink, pump

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for what ran out of time or was cancelled."""

_DRAIN_GRACE = 0.1


@dataclass(frozen=True, slots=True)
class Finished:
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


def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cap: int,
    cancelled: Cancellation,
    stdin: bytes = b"",
    start: Callable[..., subprocess.Popen[bytes]] = own.start,
) -> Finished:
    """Run `argv` and return what it wrote, at most `cap` bytes.

    `timeout` is in seconds; `start` is `Keepers.start_beside` for what runs beside commands. Raises `OSError` when the
    program cannot be started.
    """
    output, errors = Buffer(cap), Buffer(4096, keep_going=True)
    source = _as_file(stdin)
    began = time.monotonic()
    try:
        process = start(
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
            signal_group(process.pid, signal.SIGKILL)  # what it left behind
            exit_code = process.wait()
    return Finished(
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


@dataclass(slots=True)
class _Stopped:
    """Why a program was told to end, if it was."""

    late: bool = False
    cancelled: bool = False

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
    """Take what is left in the pipes after the process ended.

    Where another process still holds one (`> >(tee log)`, a server in the background) it gets a short grace.
    """
    deadline = time.monotonic() + _DRAIN_GRACE
    poll = select.poll()
    for fd in sinks:
        poll.register(fd, select.POLLIN)
    late = False
    while sinks and not late:
        left = milliseconds_to(deadline)
        late = not left  # once even so: the machine may have stood still meanwhile
        for fd, _ in poll.poll(left):
            open_still, enough = pump(fd, sinks[fd])
            if enough or not open_still:
                poll.unregister(fd)
                del sinks[fd]


def milliseconds_to(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic()) * 1000

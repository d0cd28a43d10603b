"""The one place in the workshop that starts processes, limits them and makes sure that they end.

It returns plain results; wording and truncation belong to the tool that shows them. Nothing here sleeps: a
loop waits on the output pipe, the process (a pidfd) and the cancellation at once. Output goes through a pipe
and not straight to a file, since `> /dev/stderr` in a script would truncate a file; the loop ends with the
process and not with the pipe, so a background child that keeps the pipe open holds nothing up.
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

from bot.workshop.host.cancellation import Cancellation

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for a command that ran out of time or was cancelled."""

_SWEEP_LIMIT = 2.0
_DRAIN_GRACE = 0.1
_CHUNK = 1 << 16
_ROUNDS = 16

Sink = Callable[[bytes], bool]
"""Takes a piece of output; true when it has enough and the program may be stopped."""


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


@dataclass(frozen=True, slots=True)
class Ended:
    """How a shell command ended. `swept` counts the processes it had left running, which were killed."""

    exit_code: int
    timed_out: bool
    cancelled: bool
    duration: float
    swept: int


def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cap: int,
    cancelled: Cancellation,
    stdin: bytes = b"",
) -> Finished:
    """Run one of our own helpers (git, a search program) and return what it wrote, at most `cap` bytes.

    `timeout` is in seconds. Raises `OSError` when the program cannot be started.
    """
    output, errors = _Buffer(cap), _Buffer(4096, keep_going=True)
    source = _as_file(stdin)
    try:
        ended = _run(list(argv), cwd, environment, timeout, cancelled, output, errors, source)
    finally:
        if source is not None:
            os.close(source)
    return Finished(
        ended.exit_code,
        bytes(output.data),
        ended.timed_out,
        ended.cancelled,
        ended.duration,
        bytes(errors.data),
        output.full,
    )


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cancelled: Cancellation,
    sink: Sink,
) -> Ended:
    """Run the model's command with both its outputs, merged in order, going to `sink`.

    When it ends, however it ends, every process that came from it is killed, those that made a session of
    their own or lost their parent included: the host is the reaper of its orphans (`adopt_orphans`) and runs
    one command at a time, so whatever is still its child then is the command's.
    """
    try:
        ended = _run(list(argv), cwd, environment, timeout, cancelled, sink, None, None)
    finally:
        swept = sweep()
    return Ended(ended.exit_code, ended.timed_out, ended.cancelled, ended.duration, swept)


def sweep() -> int:
    """Kill and reap every child of this process, and theirs, until none is left. Returns how many there were.

    A killed parent's children become ours, so each round goes one level down.
    """
    swept = 0
    deadline = time.monotonic() + _SWEEP_LIMIT
    while _reap() and time.monotonic() < deadline:
        for child in _children():
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except (ProcessLookupError, ChildProcessError):
                continue
            swept += 1
    return swept


def kill_children() -> None:
    """Kill every child and its group at once; whoever waits for them, or `sweep`, reaps."""
    for child in _children():
        _signal_group(child, signal.SIGKILL)


def _reap() -> bool:
    """Take the exit status of every child that ended by itself. True while there are others."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    children: list[int] = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", "rb") as listing:
                children += map(int, listing.read().split())
        except FileNotFoundError:
            continue  # the thread ended meanwhile
    return children


class _Buffer:
    """A sink that keeps the first `cap` bytes and then asks to stop, or goes on dropping (`keep_going`)."""

    def __init__(self, cap: int, *, keep_going: bool = False) -> None:
        self.data = bytearray()
        self.full = False
        self._cap = cap
        self._keep_going = keep_going

    def __call__(self, piece: bytes) -> bool:
        room = self._cap - len(self.data)
        self.full = self.full or len(piece) > room
        self.data += piece[: max(room, 0)]
        return self.full and not self._keep_going


def _as_file(content: bytes) -> int | None:
    """`content` as an anonymous file to read from, so that feeding a program can never deadlock."""
    if not content:
        return None
    fd = os.memfd_create("stdin", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _run(
    argv: list[str],
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cancelled: Cancellation,
    output: Sink,
    errors: Sink | None,
    stdin: int | None,
) -> Ended:
    started = time.monotonic()
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors is None else subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    assert process.stdout is not None
    sinks = {process.stdout.fileno(): output}
    if errors is not None:
        assert process.stderr is not None
        sinks[process.stderr.fileno()] = errors
    pidfd = os.pidfd_open(process.pid)
    try:
        timed_out, was_cancelled = _watch(process.pid, pidfd, sinks, started + timeout, cancelled)
    except BaseException:
        _signal_group(process.pid, signal.SIGKILL)  # a sink raised (a full disk): nothing may stay behind
        raise
    finally:
        if errors is not None:
            _signal_group(process.pid, signal.SIGKILL)  # what a helper left behind; a command's is swept
        exit_code = process.wait()
        os.close(pidfd)
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()
    return Ended(exit_code, timed_out, was_cancelled, time.monotonic() - started, 0)


def _watch(
    pid: int, pidfd: int, sinks: dict[int, Sink], deadline: float, cancelled: Cancellation
) -> tuple[bool, bool]:
    """Pump output until the process ends. Returns whether time ran out and whether it was cancelled."""
    poll = select.poll()
    for fd in (pidfd, *sinks):
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    poll.register(cancelled.fileno(), select.POLLIN)
    timed_out = was_cancelled = stopping = False
    while True:
        ready = {fd for fd, _ in poll.poll(_milliseconds_to(deadline))}
        for fd in ready & sinks.keys():
            open_still, enough = _pump(fd, sinks[fd])
            if not open_still:
                poll.unregister(fd)
                del sinks[fd]
            if enough:
                _signal_group(pid, signal.SIGKILL)
        if pidfd in ready:
            break
        late = time.monotonic() >= deadline
        if stopping and late:
            _signal_group(pid, signal.SIGKILL)
            deadline += TERM_GRACE
        elif not stopping and (late or cancelled.fileno() in ready):
            stopping = True
            was_cancelled = cancelled.is_set()
            timed_out = not was_cancelled
            poll.unregister(cancelled.fileno())
            _signal_group(pid, signal.SIGTERM)
            deadline = time.monotonic() + TERM_GRACE
    _drain(sinks)
    return timed_out, was_cancelled


def _drain(sinks: dict[int, Sink]) -> None:
    """Take what is left in the pipes after the process ended.

    Where another process still holds one (`> >(tee log)`, a server in the background) it gets a short grace.
    """
    deadline = time.monotonic() + _DRAIN_GRACE
    poll = select.poll()
    for fd in sinks:
        poll.register(fd, select.POLLIN)
    while sinks and time.monotonic() < deadline:
        for fd, _ in poll.poll(_milliseconds_to(deadline)):
            open_still, enough = _pump(fd, sinks[fd])
            if enough or not open_still:
                poll.unregister(fd)
                del sinks[fd]


def _milliseconds_to(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic()) * 1000


def _pump(fd: int, sink: Sink) -> tuple[bool, bool]:
    """Move what is in the pipe to the sink. Returns whether the pipe is still open and whether to stop.

    One turn is bounded, so that a command that writes without end cannot keep its deadline from us.
    """
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


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return  # the whole group is gone

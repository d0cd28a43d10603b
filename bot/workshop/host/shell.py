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
from dataclasses import dataclass, replace
from pathlib import Path

from bot.workshop.host import descendants
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.descendants import Test, signal_all, signal_group

TERM_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for a command that ran out of time or was cancelled."""

MARK = "SLASH_AGENT_BACKGROUND"
"""A variable by which the processes of a background command are known when they lost their parent."""

_MOST_NAMED = 5
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
    """How a shell command ended. `swept` counts the processes it had left running, which were killed; `running` are
    the command lines of what ran when it was stopped."""

    exit_code: int
    timed_out: bool
    cancelled: bool
    duration: float
    swept: int = 0
    running: tuple[str, ...] = ()


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
    spare: Test | None = None,
) -> Ended:
    """Run the model's command with both its outputs, merged in order, going to `sink`.

    When it ends, however it ends, every process that came from it is killed, those that made a session of
    their own or lost their parent included: the host is the reaper of its orphans and runs one command at a
    time, so whatever is still its child then is the command's, but for what `spare` says is another's.
    """
    try:
        ended = _run(list(argv), cwd, environment, timeout, cancelled, sink)
    finally:
        swept = descendants.sweep(spare)
    return replace(ended, swept=swept)


def run_in_background(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cancelled: Cancellation,
    sink: Sink,
    mark: str,
    started: Callable[[int], None],
) -> Ended:
    """The same beside other commands, on a thread of its own; `started` is told the process id, `mark` is the value
    of `MARK` in its environment.

    At the end only what can be told to be its own is killed: what wiped its environment and made a session of its
    own is left to the next `run_command`.
    """
    leader = 0

    def noted(pid: int) -> None:
        nonlocal leader
        leader = pid
        started(pid)

    environment = {**environment, MARK: mark}
    try:
        ended = _run(list(argv), cwd, environment, timeout, cancelled, sink, started=noted)
    finally:
        if leader:
            descendants.sweep_only(lambda pid: descendants.comes_from(pid, leader, marked(mark)))
    return ended


def marked(mark: str) -> bytes:
    """The environment entry of a background command's processes."""
    return f"{MARK}={mark}".encode()


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
    errors: Sink | None = None,
    stdin: int | None = None,
    started: Callable[[int], None] | None = None,
) -> Ended:
    began = time.monotonic()
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
        if started is not None:
            started(process.pid)
        stopped = _watch(process.pid, pidfd, sinks, began + timeout, cancelled)
    except BaseException:
        signal_group(process.pid, signal.SIGKILL)  # a sink raised (a full disk): nothing may stay behind
        raise
    finally:
        if errors is not None:
            signal_group(process.pid, signal.SIGKILL)  # what a helper left behind; a command's is swept
        exit_code = process.wait()
        os.close(pidfd)
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()
    duration = time.monotonic() - began
    return Ended(exit_code, stopped.late, stopped.cancelled, duration, running=stopped.running)


@dataclass(slots=True)
class _Stopped:
    """Why a process was told to end, if it was, and what ran then."""

    late: bool = False
    cancelled: bool = False
    running: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.late or self.cancelled


def _watch(
    pid: int, pidfd: int, sinks: dict[int, Sink], deadline: float, cancelled: Cancellation
) -> _Stopped:
    """Pump output until the process ends. Returns whether time ran out or it was cancelled."""
    poll = select.poll()
    for fd in (pidfd, *sinks):
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    poll.register(cancelled.fileno(), select.POLLIN)
    stopped = _Stopped()
    while True:
        ready = {fd for fd, _ in poll.poll(_milliseconds_to(deadline))}
        for fd in ready & sinks.keys():
            open_still, enough = _pump(fd, sinks[fd])
            if not open_still:
                poll.unregister(fd)
                del sinks[fd]
            if enough:
                signal_group(pid, signal.SIGKILL)
        if pidfd in ready:
            break
        late = time.monotonic() >= deadline
        if stopped and late:
            signal_all(pid, signal.SIGKILL)
            deadline += TERM_GRACE
        elif not stopped and (late or cancelled.fileno() in ready):
            stopped = _Stopped(not cancelled.is_set(), cancelled.is_set(), _running(pid))
            poll.unregister(cancelled.fileno())
            signal_all(pid, signal.SIGTERM)
            deadline = time.monotonic() + TERM_GRACE
    _drain(sinks)
    return stopped


def _running(pid: int) -> tuple[str, ...]:
    """The command lines of what runs beneath `pid`, once each; its own where it runs nothing."""
    lines = dict.fromkeys(map(descendants.command_line, list(descendants.below(pid)) or [pid]))
    return tuple(line for line in lines if line)[:_MOST_NAMED]


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

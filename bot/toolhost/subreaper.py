"""The process between the tool host and a command, which adopts the command's orphans.

Whatever the command does (new sessions, double forks, an empty environment), a process that loses its parent becomes
a child of this one. It reports when the command has exited and when nothing of it is left, and kills the rest on
request or when the host has ended. Each command has its own.
"""

import contextlib
import ctypes
import errno
import gc
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from bot.toolhost import descendants
from bot.toolhost.resource_limits import ResourceLimits, limit_this_process
from bot.toolhost.system_calls import become_subreaper, checked, libc

FAILED, ENDED, DONE = 1, 2, 3

_REPLY = struct.Struct("=iii")
_SWEEP = b"S"
_SWEEP_LIMIT = 5.0
"""Seconds in which it must kill the remaining processes. A command can stop or kill it, but gains nothing by that."""

_FIRST_FD = 3

# Signals that a command may send to all processes that it can find.
_SENT = "HUP INT QUIT TERM USR1 USR2 ALRM TSTP TTIN TTOU VTALRM PROF IO XCPU"
_IGNORED = {signal.Signals[f"SIG{name}"] for name in _SENT.split()}
_DEFAULTS = (*sorted(_IGNORED), signal.SIGPIPE, signal.SIGXFSZ)


class Report(NamedTuple):
    """`FAILED`, with the error's number, if it cannot be started; `ENDED`, with the exit code, where something still
    runs; at last `DONE`, with the exit code and how many processes were killed, when nothing of the command is left."""

    kind: int
    code: int
    swept: int


class Command(NamedTuple):
    """A command to run, with its whole environment. It may run for `timeout` seconds."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    timeout: float


class Subreaper:
    """A running command, seen from the host; both its outputs go to the descriptor `output`. `endings` is how often all
    processes had been killed before it was started; `returncode` is `None` until it is closed."""

    def __init__(self, command: Command, output: int, limits: ResourceLimits, endings: int) -> None:
        """Raises `OSError`; a report follows if the command cannot be started."""
        self.endings = endings
        self.returncode: int | None = None
        self.done = False
        self._sock, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            _live(command, output, there, limits)
        there.close()

    def fileno(self) -> int:
        """Readable when there is a report."""
        return self._sock.fileno()

    def report(self) -> Report:
        """The next report. Raises `EOFError` if the subreaper has ended."""
        try:
            report = Report(*_REPLY.unpack(self._sock.recv(_REPLY.size)))
        except (OSError, struct.error) as error:
            raise EOFError from error
        self.done = report.kind in (FAILED, DONE)
        return report

    def sweep(self) -> Report:
        """Have all processes of the command killed; return the last report. Raises `EOFError` if there is none."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGCONT)
            self._sock.send(_SWEEP)
        deadline = time.monotonic() + _SWEEP_LIMIT
        poll = select.poll()
        poll.register(self._sock.fileno(), select.POLLIN)
        while poll.poll(milliseconds_to(deadline)):
            report = self.report()
            if self.done:
                return report
        raise EOFError

    def close(self) -> None:
        """End the subreaper, which is reaped like an orphan."""
        self._sock.close()
        self.returncode = 0


def milliseconds_to(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic()) * 1000


def _live(command: Command, output: int, sock: socket.socket, limits: ResourceLimits) -> NoReturn:
    try:
        _settle({sock.fileno(), output}, limits)
        woken = _woken_by_children()
        try:
            os.chdir(command.cwd)
            leader = _spawn(list(command.argv), command.environment, output)
        except (OSError, ValueError) as error:
            _say(sock, FAILED, getattr(error, "errno", None) or errno.EINVAL)
            return  # type: ignore[misc]
        os.chdir("/")
        os.close(output)
        _see_off(leader, sock, woken)
    finally:
        os._exit(0)


def _settle(kept: set[int], chosen: ResourceLimits) -> None:
    """Close the descriptors of the host, and become the subreaper."""
    gc.disable()  # there are no cycles, and a collection would copy all pages that it shares with the host
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd >= _FIRST_FD and fd not in kept:
            with contextlib.suppress(OSError):  # the one that the listing itself used
                os.close(fd)
    os.setsid()
    become_subreaper()
    for number in _IGNORED:
        signal.signal(number, lambda number, frame: None)
    limit_this_process(chosen)


def _woken_by_children() -> int:
    """Block SIGCHLD; return a descriptor that is readable when it arrives."""
    mask = (ctypes.c_ulong * (128 // ctypes.sizeof(ctypes.c_ulong)))(1 << signal.SIGCHLD - 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    return checked(libc.signalfd(-1, mask, os.O_CLOEXEC | os.O_NONBLOCK), "signalfd")


def _see_off(leader: int, sock: socket.socket, woken: int) -> None:
    """Report and reap until no process of the command is left."""
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    poll.register(woken, select.POLLIN)
    codes: dict[int, int] = {}
    swept = 0
    reported = False
    while descendants.reap(codes):
        if leader in codes and not reported:
            reported = True
            _say(sock, ENDED, codes[leader])
        ready = {fd for fd, _ in poll.poll()}
        if woken in ready:
            os.read(woken, 4096)
        if sock.fileno() in ready:
            message = sock.recv(1)
            swept += descendants.sweep(codes)
            if not message:
                os._exit(0)  # the host is gone
    _say(sock, DONE, codes.get(leader, -signal.SIGKILL), swept)


def _say(sock: socket.socket, kind: int, code: int, swept: int = 0) -> None:
    with contextlib.suppress(OSError):  # the host is gone; the next read ends this process
        sock.sendall(_REPLY.pack(kind, code, swept))


def _spawn(argv: list[str], environment: Mapping[str, str], output: int) -> int:
    program, folders = argv[0], environment.get("PATH", os.defpath).split(":")
    places = (os.path.join(folder, program) for folder in folders if "/" not in program)
    return os.posix_spawn(
        next((path for path in places if os.access(path, os.X_OK)), program),
        argv,
        environment,
        file_actions=(
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
        ),
        setsid=True,
        setsigmask=(),
        setsigdef=_DEFAULTS,
    )

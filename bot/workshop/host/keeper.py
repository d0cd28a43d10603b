"""The life of a keeper: a process that stands between the tool host and a command, and takes in the command's orphans.

Forked from the host, it runs one command after the other, and is done with one only when nothing that came from it is
left. What the command does to its own processes (new sessions, double forks, an emptied environment) makes no
difference: whoever loses its parent becomes a child of this process. It ends with the host.

What is said over the socket: the host sends `RUN`, the length of an `order` and the order, with a descriptor for both
outputs, and `SWEEP` where all that is left should be killed now. The keeper answers with `REPLY`: `FAILED`, or where it
should tell `BEGUN`, first; `ENDED` when the command is over and left something running; `DONE` when nothing of it is
left.
"""

from __future__ import annotations

import _socket  # the C module alone: the start waits for this, and `socket` costs 9 ms more
import contextlib
import ctypes
import errno
import gc
import os
import select
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from bot.workshop.host import descendants, limits
from bot.workshop.host.limits import Limits

RUN, SWEEP = b"R", b"S"
BEGUN, FAILED, ENDED, DONE = 1, 2, 3, 4
REPLY = struct.Struct("=iii")
"""What it is, then: the process id; the error number; the exit code and 0; the exit code and how many were killed."""
LENGTH = struct.Struct("=I")

_TELL = b"tell"
_HEAD = len(RUN) + LENGTH.size
_AT_ONCE = 1 << 14

_PR_SET_CHILD_SUBREAPER = 36
_FIRST_FD = 3

# A stop, an end or a hang-up that a command sends to whatever it can find is not for this process.
_PASSED_OVER = {
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
    signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGXCPU,
}  # fmt: skip
_NO_PATH = os.fsencode(os.defpath)
_DEFAULTS = (*sorted(_PASSED_OVER), signal.SIGPIPE, signal.SIGXFSZ)


class Job(NamedTuple):
    """A command. Its keeper tells of its beginning where it should `tell`; `environment` is `None` for that of the
    command before."""

    argv: list[bytes]
    cwd: bytes
    tell: bool
    environment: Mapping[bytes, bytes] | None


def order(argv: Sequence[str], cwd: str, environment: Mapping[str, str] | None, *, tell: bool) -> bytes:
    """The bytes that `job_of` reads: nothing in them can hold a NUL. Raises `ValueError` where something does."""
    words = [_TELL if tell else b"", os.fsencode(cwd), b"%d" % len(argv), *map(os.fsencode, argv)]
    for name, value in (environment or {}).items():
        words += (os.fsencode(name), os.fsencode(value))
    said = b"\0".join(words)
    if said.count(b"\0") != len(words) - 1:
        raise ValueError("a NUL in a command or its environment")
    return said + (b"" if environment is None else b"\0")


def job_of(said: bytes) -> Job:
    words = said.split(b"\0")
    end = 3 + int(words[2])
    environment = dict(zip(words[end::2], words[end + 1 :: 2], strict=False)) if len(words) > end else None
    return Job(words[3:end], words[1], words[0] == _TELL, environment)


def live(sock: int, chosen: Limits) -> NoReturn:
    """Run in the child of a fork; does not return."""
    try:
        _settle(sock, chosen)
        _Keeper(sock).serve()
    finally:
        os._exit(0)


def _settle(sock: int, chosen: Limits) -> None:
    """Let go of all that is the host's, and become what this process is."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd >= _FIRST_FD and fd != sock:
            with contextlib.suppress(OSError):  # the one that the listing itself used
                os.close(fd)
    os.setsid()
    os.chdir("/")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")
    for number in _PASSED_OVER:
        signal.signal(number, _do_nothing)
    limits.apply(chosen)
    gc.disable()  # it makes no cycles, and a collection would make all pages it shares with the host its own


def _do_nothing(number: int, frame: object) -> None:
    pass


def _signalled(number: int) -> int:
    """A descriptor that is readable when the signal came, which then does nothing else: no handler is in the way."""
    libc = ctypes.CDLL(None, use_errno=True)
    mask = (ctypes.c_ulong * (128 // ctypes.sizeof(ctypes.c_ulong)))(1 << number - 1)
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    found: int = libc.signalfd(-1, mask, os.O_CLOEXEC | os.O_NONBLOCK)
    if found < 0:
        raise OSError(ctypes.get_errno(), "signalfd failed")
    return found


class _Keeper:
    def __init__(self, sock: int) -> None:
        self._sock = _socket.socket(fileno=sock)
        self._environment: Mapping[bytes, bytes] = {}
        self._woken = _signalled(signal.SIGCHLD)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._poll.register(self._woken, select.POLLIN)

    def serve(self) -> None:
        """Until the host is gone."""
        while True:
            # No further than what came with the descriptor: the kernel sees to that.
            said, ancillary, _, _ = self._sock.recvmsg(
                _AT_ONCE, _socket.CMSG_SPACE(4), _socket.MSG_CMSG_CLOEXEC
            )
            if not said:
                return
            if not ancillary:
                continue  # `SWEEP`, which crossed the word that nothing is left
            output = int.from_bytes(ancillary[0][2], sys.byteorder)
            said = said.lstrip(SWEEP)
            said += self._exactly(_HEAD - len(said))
            size = LENGTH.unpack_from(said, len(RUN))[0]
            try:
                job = job_of(said[_HEAD:] + self._exactly(size - (len(said) - _HEAD)))
                if job.environment is not None:
                    self._environment = job.environment
                leader = _start(job, self._environment, output)
            except OSError as error:
                self._say(FAILED, error.errno or errno.EIO)
                continue
            finally:
                os.close(output)
            if job.tell:
                self._say(BEGUN, leader)
            self._see_off(leader)

    def _see_off(self, leader: int) -> None:
        """Until nothing of the command is left."""
        codes: dict[int, int] = {}
        swept = 0
        said = False
        while True:
            ready = {fd for fd, _ in self._poll.poll()}
            if self._woken in ready:
                os.read(self._woken, 4096)
            if self._sock.fileno() in ready:
                asked = self._sock.recv(1)
                swept += descendants.sweep(codes)
                if not asked:
                    return None  # the host is gone
            some_left = descendants.reap(codes)
            if not some_left:
                return self._say(DONE, codes.get(leader, -signal.SIGKILL), swept)
            if leader in codes and not said:
                said = True
                self._say(ENDED, codes[leader])

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            piece = self._sock.recv(size - len(parts))
            if not piece:
                os._exit(0)  # the host is gone, and nothing runs here
            parts += piece
        return bytes(parts)

    def _say(self, what: int, first: int, second: int = 0) -> None:
        try:
            self._sock.sendall(REPLY.pack(what, first, second))
        except OSError:
            return  # the host is gone; the next read ends this process


def _start(job: Job, environment: Mapping[bytes, bytes], output: int) -> int:
    os.chdir(job.cwd)
    try:
        return os.posix_spawn(
            _found(job.argv[0], environment.get(b"PATH", _NO_PATH)),
            job.argv,
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
    finally:
        os.chdir("/")


def _found(program: bytes, path: bytes) -> bytes:
    """`program` by the PATH of the command; as it is where it is a path already."""
    places = (os.path.join(folder, program) for folder in path.split(b":"))
    return next((place for place in places if b"/" not in program and os.access(place, os.X_OK)), program)

"""The host's side of its keepers (`keeper.py`): one for each command that runs, used again for the next."""

from __future__ import annotations

import _socket
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.workshop.host import descendants, keeper, own, unmapped
from bot.workshop.host.limits import Limits, for_a_child
from bot.workshop.host.lookout import Lookout
from bot.workshop.host.standstill import Standstill

if TYPE_CHECKING:
    import subprocess

_GONE_LIMIT = 3.0
"""Seconds for a keeper to end what it keeps. A command can stop it, or kill it, but gains nothing by that."""

_AT_MOST = 10_000
"""Processes that are killed at a time: of a bomb that goes on meanwhile there is no end."""


@dataclass(frozen=True, slots=True)
class Word:
    """What a keeper said of its command. `kind` is one of `keeper`'s: that it began; that it ended with this exit code
    and left something running; or that nothing of it is left, and how many processes had to be killed for that."""

    kind: int
    exit_code: int = 0
    swept: int = 0

    @property
    def over(self) -> bool:
        return self.kind == keeper.DONE


class Keeper:
    """A running one. Made by `Keepers`, and has their `standstill`."""

    def __init__(self, limits: Limits, standstill: Standstill) -> None:
        self.standstill = standstill
        here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._sock = here
        self._environment: Mapping[str, str] = {}
        self.pid = os.fork()
        if self.pid == 0:
            keeper.live(there.detach(), limits)
        there.close()

    def fileno(self) -> int:
        """Readable when there is a word of it."""
        return self._sock.fileno()

    def start(
        self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str], output: int, *, tell: bool
    ) -> None:
        """Have a command started with both its outputs going to the descriptor `output`; a word follows where that
        fails, and where it is done if it should `tell`. Nothing is waited for, since the command may stop its keeper.
        Raises `EOFError` when that is gone."""
        given = None if environment == self._environment else environment
        job = keeper.order(argv, str(cwd), given, tell=tell)
        message = keeper.RUN + keeper.LENGTH.pack(len(job)) + job
        descriptor = output.to_bytes(4, sys.byteorder)
        try:
            # In one piece where it can be: each wakes the keeper, which costs more than all else here.
            sent = self._sock.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptor)])
            self._sock.sendall(message[sent:])
        except OSError as error:
            raise EOFError from error
        self._environment = environment

    def word(self) -> Word:
        """The next one. Raises `OSError` where the command could not be started, `EOFError` when the keeper is gone."""
        kind, number, swept = self._reply()
        if kind == keeper.FAILED:
            raise OSError(number, os.strerror(number))
        return Word(kind, number, swept)

    def sweep(self) -> None:
        """Have it kill all that is left of the command; the last word follows."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGCONT)
            self._sock.send(keeper.SWEEP)

    def last_word(self) -> Word:
        """The word that nothing is left, which a `sweep` was asked for. Raises `EOFError` when it does not come."""
        deadline = time.monotonic() + _GONE_LIMIT
        poll = select.poll()
        poll.register(self._sock.fileno(), select.POLLIN)
        while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            if (word := self.word()).over:
                return word
        raise EOFError

    def kill(self) -> int:
        """What it keeps and then it, so that its end is the next word. Returns how many still ran, which is all where
        they stand still."""
        swept = len(descendants.kill(islice(descendants.below(self.pid), _AT_MOST)))
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return swept

    def end(self) -> int:
        """As `kill`, for one that is of no use any more."""
        with self.standstill.held():
            swept = self.kill()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        self._sock.close()
        return swept

    def _reply(self) -> tuple[int, int, int]:
        size = keeper.REPLY.size
        try:
            reply = self._sock.recv(size, _socket.MSG_WAITALL)
        except OSError as error:
            raise EOFError from error
        if len(reply) < size:
            raise EOFError
        kind, first, second = keeper.REPLY.unpack(reply)
        return kind, first, second


class Keepers:
    """Those of one tool host, for any of its threads. `alone` says that this process starts programs by `own.start` and
    not otherwise, so that whatever else is a child of it lost its parent, and nobody waits for it."""

    def __init__(self, limits: Limits, standstill: Standstill | None = None, *, alone: bool = False) -> None:
        self.limits = limits
        self.standstill = standstill or Standstill(possible=False)
        self._idle: list[Keeper] = []
        self._all: dict[int, Keeper] = {}
        self._lookout = Lookout(limits.processes, self.standstill, self._nothing_starts, reaps=alone)
        self._used = self._lost = False
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Have one ready before it is needed."""
        self.give_back(self.take())

    def take(self) -> Keeper:
        with self._lock:  # also around the fork: `collect` must not take it for an orphan
            if self._idle:
                return self._idle.pop()
            made = Keeper(self.limits, self.standstill)
            self._all[made.pid] = made
            return made

    def give_back(self, kept: Keeper) -> None:
        """Nothing of its command is left."""
        with self._lock:
            self._idle.append(kept)
            self._used = True

    def all(self) -> list[Keeper]:
        with self._lock:
            return list(self._all.values())

    def drop(self, kept: Keeper) -> int:
        """It was killed or stopped by its command, or its command cannot be ended otherwise. Returns how many processes
        were killed."""
        swept = kept.end()
        with self._lock:
            self._all.pop(kept.pid, None)
            self._used = self._lost = True
        return swept

    def start_beside(self, argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        """Start a program of the host's own that runs beside commands, as `subprocess.Popen` would: `collect` leaves
        it alone, and it has a command's limits; that of processes it shares with the others. Raises `OSError`."""
        process = own.start(argv, preexec_fn=for_a_child(self.limits), **how)
        with self._lock:
            self._used = True  # it may leave something behind
        try:
            self._lookout.watch(process.pid)
        except OSError:
            process.kill()
            process.wait()
            raise
        return process

    def collect_where_lost(self) -> int:
        """`collect` where a keeper was lost since. Another one says itself that nothing of its command is left."""
        return self.collect() if self._lost else 0

    def tidy(self) -> None:
        """`collect` where anything ran since, for when nobody waits; what the system refuses now is tried again after
        the next command."""
        if self._used:
            with contextlib.suppress(OSError):
                self.collect()

    def collect(self) -> int:
        """Kill whatever came to the host because its keeper is no more, and drop memory that belongs to nobody. Returns
        how many still ran."""
        with self._nothing_starts() as lost:
            ran = self._sweep(lost)
            self._lost = False
        unmapped.drop_segments()
        self._used = False
        return ran

    @contextlib.contextmanager
    def _nothing_starts(self) -> Iterator[descendants.Test]:
        """Meanwhile; whether a child of this process is neither a keeper nor a program of the host's own."""
        with self._lock, own.none_starts() as programs:
            kept = self._all.keys() | programs
            yield lambda pid: pid not in kept

    def _sweep(self, lost: descendants.Test) -> int:
        if not descendants.orphans(lost):
            return 0
        with self.standstill.held():
            return descendants.sweep_orphans(lost)

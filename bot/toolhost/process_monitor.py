"""Limit the number of processes in the workspace, and kill all of them over the limit.

No process is spared then: a search for those of a fork bomb comes too late for what forks and exits meanwhile. But
the kernel signals all processes that a process may signal in one step, in which nobody forks; where the host may
signal only its own descendants, that ends this workspace alone. The same is done where a command killed the process
above it, since then its orphans are unknown.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bot.contracts.capacity import retry_at_capacity
from bot.toolhost import descendants
from bot.toolhost.command_usage import CommandUsage, DiskUse, drop_segments
from bot.toolhost.programs import register, starts_blocked
from bot.toolhost.resource_limits import ExceededLimit, ResourceLimits
from bot.toolhost.subreaper import Command, Subreaper

_EVERY = 0.05
"""Seconds between two counts."""

_PAUSE = 0.005
_GROWN_SHARE = 8
"""Processes are stopped and counted when the machine's threads grew by one part in so many of the limit."""


class Ending(NamedTuple):
    """Why all processes were killed: the limit, or `None` if a command killed its subreaper; and some command lines of
    running processes."""

    over: ExceededLimit | None
    running: tuple[str, ...]


class ProcessMonitor:
    """One for a tool host, used by any of its threads. A child of the host that was not started by `run` or
    `start_program` is an orphan, and nobody else reaps it."""

    def __init__(self, limits: ResourceLimits, *, confined: bool = False) -> None:
        self.limits = limits
        self.folders: tuple[Path, ...] = ()
        """Where commands write."""

        self.disk: DiskUse | None = None
        self._bounded = confined and _signals_are_bounded()
        self._least_threads = _threads()
        self._endings: list[Ending] = []
        self._closed = threading.Event()

    def start(self) -> None:
        """Count processes from now on, in a thread of its own."""
        retry_at_capacity(threading.Thread(target=self._watch, name="processes", daemon=True).start)

    def close(self) -> None:
        self._closed.set()

    def usage(self) -> CommandUsage:
        """The measurements for the next command."""
        self.disk = self.disk or DiskUse(self.folders, self.limits.disk)
        return CommandUsage(self.limits, self.disk)

    def run(self, command: Command, output: int) -> Subreaper:
        """Start a command, as `Subreaper` does; `release` comes at the end. Raises `OSError`."""
        with starts_blocked():  # not while all processes are being killed
            subreaper = Subreaper(command, output, self.limits, len(self._endings))
            register(subreaper)
            return subreaper

    def ending_of(self, command: Subreaper) -> Ending | None:
        """Why this command was killed with all others, if it was. Where its processes are killed one by one, it may
        have reported an end of its own."""
        with starts_blocked():
            return next(iter(self._endings[command.endings :]), None)

    @contextlib.contextmanager
    def ending_lost(self, command: Subreaper) -> Iterator[None]:
        """Where the block finds that the subreaper of this command has ended, and the command with it, kill all
        processes, unless that has been done meanwhile."""
        try:
            yield
        except EOFError:
            self._end_everything(None, command.endings)

    def check(self) -> None:
        """Kill all processes if there are more than is allowed."""
        most = self.limits.processes
        if len(list(islice(self._all(), most + 1))) > most:
            self._end_everything(ExceededLimit("processes", most))

    def tidy(self) -> None:
        """Kill orphans, reap ended processes, and free shared memory without an owner."""
        with contextlib.suppress(OSError), starts_blocked() as programs:
            descendants.sweep(orphans_but=programs)
        drop_segments()

    def _watch(self) -> None:
        while not self._closed.wait(_EVERY):
            with contextlib.suppress(OSError):  # what the system refuses now is tried again
                # One reading, whatever the number: the machine may have many more threads than at its lowest count.
                before, now = self._least_threads, _threads()
                grew = now - before > self.limits.processes // _GROWN_SHARE
                self._least_threads = now if grew else min(before, now)
                if self._bounded and grew:
                    self._check_stopped()
                else:
                    self.check()

    def _check_stopped(self) -> None:
        """Stop all processes while they are counted: a fork bomb with a session for each process is faster than
        that."""
        os.kill(-1, signal.SIGSTOP)
        try:
            self.check()
        finally:
            for _ in range(2):  # a process that was forked meanwhile is stopped a little later
                with contextlib.suppress(OSError):
                    os.kill(-1, signal.SIGCONT)
                time.sleep(_PAUSE)

    def _end_everything(self, over: ExceededLimit | None, endings: int | None = None) -> None:
        with starts_blocked() as programs:
            if endings is not None and len(self._endings) > endings:
                return
            # Of a fork bomb the youngest.
            inspected = sorted(islice(self._all(), self.limits.processes + 1))[-descendants.MOST_INSPECTED :]
            self._endings.append(Ending(over, descendants.command_lines(inspected)))
            while living := [pid for pid in self._all() if descendants.lives(pid)]:
                if self._bounded:
                    os.kill(-1, signal.SIGKILL)
                else:
                    descendants.kill(living)
                descendants.reap_orphans(programs)
                time.sleep(_PAUSE)
            descendants.reap_orphans(programs)  # else the next count has them in it

    def _all(self) -> Iterator[int]:
        """Every process of the workspace but the host."""
        host = os.getpid()
        if not self._bounded:
            return descendants.below(host)
        pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
        return (pid for pid in pids if pid != host and _may_be_signalled(pid))


def _signals_are_bounded() -> bool:
    """Whether the kernel lets this confined process signal only its descendants: it is the first of its namespace,
    or may not signal its own parent, which belongs to the same user."""
    parent = os.getppid()
    if os.getpid() == 1 or parent <= 1:
        return os.getpid() == 1
    try:
        os.kill(parent, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def _threads() -> int:
    """The number of processes on the whole machine; 0 if unknown."""
    with (
        contextlib.suppress(OSError, ValueError, IndexError),
        open("/proc/loadavg", "rb", buffering=0) as file,
    ):
        return int(file.read(128).split()[3].partition(b"/")[2])
    return 0


def _may_be_signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True

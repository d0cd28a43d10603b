"""Run the model's commands, watch them and end them. It returns plain results; tools word and truncate them.

Nothing here sleeps: a loop waits for the output pipe, the subreaper and the cancellation at once. Output goes through
a pipe and not to a file, since `> /dev/stderr` in a script would truncate a file. The command is over when it exits,
not when the pipe closes, so a background child that keeps the pipe open does not block it.

A `Job` is a command in the foreground or, while the model continues, in the background: a server, a watcher, a long
build. Each of the latter has a thread that reads its output and waits for its end. All of them end with the workspace
at the latest.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from bot.toolhost import descendants
from bot.toolhost.command_usage import CommandUsage
from bot.toolhost.output import Spill
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.programs import TERM_GRACE, Cancellation
from bot.toolhost.resource_limits import ExceededLimit
from bot.toolhost.subreaper import DONE, FAILED, Command, Report, Subreaper, milliseconds_to

_LAST_OUTPUT = 0.1
"""Seconds in which processes that a command left running, such as `tee`, may still print."""

NO_LIMIT = 7 * 24 * 3600
"""Seconds; a run is over long before."""

_KILL_LIMIT = 3 * TERM_GRACE

_KILLED = -int(signal.SIGKILL)
_CHUNK = 1 << 16
_ROUNDS = 16

Sink = Callable[[bytes], bool]
"""Takes a piece of output; true when it has enough and the command may be stopped."""


class CommandResult(NamedTuple):
    """How a shell command ended. `exit_code` is negative for a signal, as in `subprocess`; `duration` is in seconds;
    `limit` is the one it was stopped for. `swept` counts the processes that it left running, which were killed;
    `running` are the command lines of its processes when it was stopped, `quiet` the seconds without output until
    then. `all_ended`: all processes of the workspace were killed with it."""

    exit_code: int
    timed_out: bool = False
    cancelled: bool = False
    duration: float = 0.0
    swept: int = 0
    running: tuple[str, ...] = ()
    limit: ExceededLimit | None = None
    quiet: float = 0.0
    all_ended: bool = False

    @property
    def stopped(self) -> bool:
        return self.timed_out or self.cancelled or self.limit is not None


def run_command(
    command: Command,
    sink: Sink,
    *,
    cancelled: Cancellation,
    monitor: ProcessMonitor,
    lasting: Callable[[], object] = bool,
) -> CommandResult:
    """Run a command; both its outputs, merged in order, go to `sink`. `lasting` is called at each measurement, first
    after 50 ms.

    When it has ended, for whatever reason, all its descendants are dead, including those with a session of their own
    and orphans. Other commands may run beside it. Raises `OSError` if it cannot be started.
    """
    began, usage = time.monotonic(), monitor.usage()
    output, write_end = os.pipe()
    try:
        try:
            subreaper = monitor.run(command, write_end)
        finally:
            os.close(write_end)
        os.set_blocking(output, False)
        running = _Running(subreaper, output, sink, cancelled, began + command.timeout)
        try:
            with monitor.ending_lost(subreaper):
                running.see_off(usage, lasting)
        except BaseException:  # a sink raised (a full disk): nothing may stay behind
            with monitor.ending_lost(subreaper):
                if not subreaper.done:
                    subreaper.sweep()
            raise
        finally:
            subreaper.close()
        if ending := monitor.ending_of(subreaper):
            # All processes of the workspace were killed, this command with them.
            running.result = running.result._replace(
                exit_code=_KILLED,
                all_ended=True,
                limit=ending.over or running.result.limit,
                running=running.result.running or ending.running,
            )
        running.take_the_rest()
    finally:
        os.close(output)
    return running.result._replace(duration=time.monotonic() - began)


class _Running:
    """A running command. `see_off` returns when none of its processes is left; it raises `EOFError` if the subreaper
    has ended, and `OSError` if the command could not be started."""

    def __init__(
        self, subreaper: Subreaper, output: int, sink: Sink, cancelled: Cancellation, deadline: float
    ) -> None:
        self.result = CommandResult(0)
        self._subreaper = subreaper
        self._output = output
        self._sink = sink
        self._cancelled = cancelled
        self._deadline = deadline
        self._printed = time.monotonic()
        self._open = True
        self._poll = select.poll()
        for fd in (subreaper.fileno(), output, cancelled.fileno()):
            self._poll.register(fd, select.POLLIN)

    def see_off(self, usage: CommandUsage, lasting: Callable[[], object]) -> None:
        while True:
            until = min(self._deadline, usage.due)
            ready = {fd for fd, _ in self._poll.poll(milliseconds_to(until))}
            if self._output in ready and self._take():
                return self._sweep()
            if self._subreaper.fileno() in ready:
                report = self._subreaper.report()
                if report.kind == FAILED:
                    raise OSError(report.code, os.strerror(report.code))
                if report.kind == DONE:
                    return self._note(report)
                return self._leave_the_rest()
            if self._cancelled.fileno() in ready or time.monotonic() >= self._deadline:
                if self.result.cancelled or self.result.timed_out:
                    return self._sweep()
                self._ask_to_end()
            elif time.monotonic() >= usage.due:
                lasting()
                if (limit := usage.over(self._subreaper.pid)) is not None:
                    self.result = self.result._replace(limit=limit, running=_running(self._subreaper.pid))
                    return self._sweep()

    def take_the_rest(self) -> None:
        """Read the rest of the pipe, once no process writes to it any more."""
        until = time.monotonic() + _LAST_OUTPUT
        left = 1.0
        while self._open and left:
            left = milliseconds_to(until)  # with 0 poll once more: the machine may have been suspended
            if not any(fd == self._output for fd, _ in self._poll.poll(left)) or self._take():
                break

    def _take(self) -> bool:
        """Move the pipe's data to the sink; whether that has enough. One call is bounded, so that a command that writes
        without end does not delay its deadline."""
        self._printed = time.monotonic()
        for _ in range(_ROUNDS):
            try:
                piece = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return False
            if not piece:
                self._close()
                return False
            if self._sink(piece):
                return True
        return False

    def _close(self) -> None:
        self._open = False
        self._poll.unregister(self._output)

    def _ask_to_end(self) -> None:
        self.result = self.result._replace(
            cancelled=self._cancelled.is_set(),
            timed_out=not self._cancelled.is_set(),
            running=_running(self._subreaper.pid),
            quiet=time.monotonic() - self._printed,  # not counting its output after SIGTERM
        )
        self._poll.unregister(self._cancelled.fileno())
        for pid in list(descendants.below(self._subreaper.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        self._deadline = time.monotonic() + TERM_GRACE

    def _leave_the_rest(self) -> None:
        """The command has ended and left processes running: wait a moment for their output."""
        until = time.monotonic() + _LAST_OUTPUT
        while self._open and (left := milliseconds_to(until)):
            ready = {fd for fd, _ in self._poll.poll(left)}
            if self._subreaper.fileno() in ready:
                return self._note(self._subreaper.report())
            if self._output not in ready or self._take():
                break
        return self._sweep()

    def _sweep(self) -> None:
        self._note(self._subreaper.sweep())

    def _note(self, report: Report) -> None:
        self.result = self.result._replace(exit_code=report.code, swept=report.swept)


def _running(subreaper: int) -> tuple[str, ...]:
    """The command lines of a command's descendants, once each; its own if it has none."""
    processes = list(islice(descendants.below(subreaper), descendants.MOST_INSPECTED))
    return descendants.command_lines(processes[1:] or processes)


@dataclass(eq=False)
class Job:
    """One command; `number` is 0 in the foreground. `next_start` is the byte at which its next output begins; `ended`
    is `None` while it runs; `failure` is why it could not be started, or watched to its end (a full disk). `stopping`
    ends it."""

    number: int
    command: str
    spill: Spill
    timeout: float
    stopping: Cancellation = field(default_factory=Cancellation)
    began: float = field(default_factory=time.monotonic)
    next_start: int = 0
    ended: CommandResult | None = None
    failure: str = ""
    over: Cancellation = field(default_factory=Cancellation)

    @property
    def runs(self) -> bool:
        return not self.over.is_set()

    def stop(self) -> None:
        """Kill the command and its descendants, and wait until they have ended."""
        self.stopping.set()
        self.wait(_KILL_LIMIT)

    def wait(self, seconds: float, cancelled: Cancellation | None = None) -> None:
        """Return when it ends, after `seconds`, or when `cancelled` is set."""
        poll = select.poll()
        for flag in filter(None, (self.over, cancelled)):
            poll.register(flag.fileno(), select.POLLIN)
        poll.poll(max(seconds, 0) * 1000)

    def run(self, command: Command, monitor: ProcessMonitor, lasting: Callable[[], object] = bool) -> None:
        """Run it to its end: in the background on a thread of its own. For `lasting` see `run_command`."""
        try:
            self.ended = run_command(
                command, self.spill, cancelled=self.stopping, monitor=monitor, lasting=lasting
            )
            self.spill.finish()
        except OSError as error:
            self.failure = error.strerror or str(error)
        finally:
            self.over.set()

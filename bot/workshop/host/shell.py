"""Where the model's commands are run, watched and ended.

It returns plain results; wording and truncation belong to the tool that shows them. Nothing here sleeps: a loop waits
on the output pipe, the command's keeper and the cancellation at once. Output goes through a pipe and not straight to a
file, since `> /dev/stderr` in a script would truncate a file; the command is over when it ends and not when the pipe
does, so a child in the background that keeps the pipe open holds nothing up.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bot.workshop.host import descendants
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.keeper import ENDED
from bot.workshop.host.keepers import Keeper, Keepers, Word
from bot.workshop.host.limits import Over
from bot.workshop.host.programs import TERM_GRACE, milliseconds_to
from bot.workshop.host.pump import Sink, pump
from bot.workshop.host.watchdog import Watchdog

_MOST_NAMED = 5
_MOST_LOOKED_AT = 16
"""Of a bomb's processes, which are more by the time that each was read."""
_LAST_OUTPUT = 0.1
"""Seconds in which what a command left running, a `tee` say, may still print."""

_KILLED = -int(signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a shell command ended. `exit_code` is negative for a signal, as `subprocess` has it; `duration` is in
    seconds; `limit` is the one it was stopped for. `swept` counts the processes it had left running, which were
    killed; `running` are the command lines of what ran when it was stopped, `quiet` the seconds in which it had
    printed nothing by then."""

    exit_code: int
    timed_out: bool = False
    cancelled: bool = False
    duration: float = 0.0
    swept: int = 0
    running: tuple[str, ...] = ()
    limit: Over | None = None
    quiet: float = 0.0

    @property
    def stopped(self) -> bool:
        return self.timed_out or self.cancelled or self.limit is not None


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float,
    cancelled: Cancellation,
    sink: Sink,
    keepers: Keepers,
    watch: Callable[[], Watchdog],
    printed: Callable[[], None] | None = None,
    started: Callable[[], None] | None = None,
    lasting: Callable[[], None] | None = None,
) -> Ended:
    """Run a command with both its outputs, merged in order, going to `sink`; `timeout` is in seconds.

    When it ends, however it ends, every process that came from it is dead, those that made a session of their own or
    lost their parent included. Others may run beside it. `watch` is called when it has been started, and `printed` when
    nothing more can come to the sink, mostly a little before the command's end: what is only needed from then on can
    be made meanwhile. `lasting` is called whenever it is looked after, from its first 50 ms on. Raises `OSError` when
    it cannot be started.
    """
    began = time.monotonic()
    output, write_end = os.pipe()
    try:
        try:
            keeper = _start(argv, cwd, environment, write_end, keepers, tell=started is not None)
        finally:
            os.close(write_end)
        os.set_blocking(output, False)
        command = _Command(keeper, output, sink, printed, cancelled, began + timeout)
        try:
            command.see_off(watch(), started, lasting)
            keepers.give_back(keeper)
        except EOFError:  # the keeper was killed or stopped, and the command with it
            command.swept += keepers.drop(keeper)
            command.exit_code = _KILLED
        except BaseException:
            keepers.drop(keeper)  # `watch` or a sink raised (a full disk): nothing may stay behind
            raise
        command.take_the_rest()
    finally:
        os.close(output)
    return command.ended(time.monotonic() - began)


def _start(
    argv: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    output: int,
    keepers: Keepers,
    *,
    tell: bool,
) -> Keeper:
    while True:
        keeper = keepers.take()
        try:
            keeper.start(argv, cwd, environment, output, tell=tell)
        except EOFError:
            keepers.drop(keeper)  # killed while it waited, by a command in the background: take another
        else:
            return keeper


class _Command:
    """One that runs. `see_off` returns when nothing of it is left; raises `EOFError` when its keeper is gone."""

    def __init__(
        self,
        keeper: Keeper,
        output: int,
        sink: Sink,
        printed: Callable[[], None] | None,
        cancelled: Cancellation,
        deadline: float,
    ) -> None:
        self.exit_code = 0
        self.swept = 0
        self._keeper = keeper
        self._output = output
        self._sink = sink
        self._printed_all = printed
        self._cancelled = cancelled
        self._deadline = deadline
        self._late = self._was_cancelled = False
        self._limit: Over | None = None
        self._running: tuple[str, ...] = ()
        self._printed = time.monotonic()
        self._quiet = 0.0
        self._open = True
        self._poll = select.poll()
        for fd in (keeper.fileno(), output, cancelled.fileno()):
            self._poll.register(fd, select.POLLIN)

    def see_off(
        self, watchdog: Watchdog, started: Callable[[], None] | None, lasting: Callable[[], None] | None
    ) -> None:
        while True:
            until = min(self._deadline, watchdog.due)
            ready = {fd for fd, _ in self._poll.poll(milliseconds_to(until))}
            if self._output in ready and self._take():
                return self._sweep()
            if self._keeper.fileno() in ready:
                word = self._keeper.word()
                if word.over:
                    return self._note(word)
                if word.kind == ENDED:
                    return self._leave_the_rest()
                if started is not None:
                    started()
            if self._cancelled.fileno() in ready or time.monotonic() >= self._deadline:
                if self._was_cancelled or self._late:
                    return self._sweep()
                self._ask_to_end()
            elif time.monotonic() >= watchdog.due:
                if lasting is not None:
                    lasting()
                if self._is_over_a_limit(watchdog):
                    return None

    def _is_over_a_limit(self, watchdog: Watchdog) -> bool:
        """It is ended then."""
        with self._keeper.standstill.where_asked() as stand_still:
            self._limit = watchdog.look(self._keeper.pid, stand_still)
            if self._limit is not None:
                self._end_for_that()
        return self._limit is not None

    def _end_for_that(self) -> None:
        """Raises `EOFError` where its keeper could be ended with it, before any process of it had time again."""
        still = self._keeper.standstill
        if still.possible:
            with still.held():
                self._running = _running(self._keeper.pid)
                self.swept += self._keeper.kill()
            raise EOFError
        descendants.give_way(self._keeper.pid)
        self._running = _running(self._keeper.pid)
        self._sweep()

    def take_the_rest(self) -> None:
        """What is still in the pipe, now that nobody writes to it any more."""
        until = time.monotonic() + _LAST_OUTPUT
        late = False
        while self._open and not late:
            left = milliseconds_to(until)
            late = not left  # once even so: the machine may have stood still meanwhile
            if not any(fd == self._output for fd, _ in self._poll.poll(left)) or self._take():
                break
        if self._open:
            self._close()

    def ended(self, duration: float) -> Ended:
        return Ended(
            self.exit_code,
            self._late,
            self._was_cancelled,
            duration,
            self.swept,
            self._running,
            self._limit,
            self._quiet,
        )

    def _take(self) -> bool:
        """Whether the sink has enough."""
        self._printed = time.monotonic()
        self._open, enough = pump(self._output, self._sink)
        if not self._open:
            self._close()
        return enough

    def _close(self) -> None:
        self._open = False
        self._poll.unregister(self._output)
        if self._printed_all is not None:
            self._printed_all()

    def _ask_to_end(self) -> None:
        self._was_cancelled = self._cancelled.is_set()
        self._late = not self._was_cancelled
        self._running = _running(self._keeper.pid)
        self._quiet = time.monotonic() - self._printed  # before its last words, of being told to end
        self._poll.unregister(self._cancelled.fileno())
        descendants.signal_below(self._keeper.pid, signal.SIGTERM)
        self._deadline = time.monotonic() + TERM_GRACE

    def _leave_the_rest(self) -> None:
        """The command is over and left something running: let it say its last words."""
        until = time.monotonic() + _LAST_OUTPUT
        while self._open and (left := milliseconds_to(until)):
            ready = {fd for fd, _ in self._poll.poll(left)}
            if self._keeper.fileno() in ready:
                return self._note(self._keeper.word())
            if self._output not in ready or self._take():
                break
        return self._sweep()

    def _sweep(self) -> None:
        self._keeper.sweep()
        self._note(self._keeper.last_word())

    def _note(self, word: Word) -> None:
        self.exit_code, self.swept = word.exit_code, word.swept


def _running(keeper: int) -> tuple[str, ...]:
    """The command lines of what runs beneath a command, once each; its own where it runs nothing."""
    found = list(islice(descendants.below(keeper), _MOST_LOOKED_AT))
    lines = dict.fromkeys(map(descendants.command_line, found[1:] or found))
    return tuple(line for line in lines if line)[:_MOST_NAMED]

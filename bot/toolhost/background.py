"""Commands, above all those that run in the background while the model continues: a server, a watcher, a long build.

Each has a thread that reads its output and waits for its end. All of them end with the workspace at the latest.
"""

import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.toolhost import shell
from bot.toolhost.output import Spill
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.programs import TERM_GRACE, Cancellation
from bot.toolhost.shell import CommandResult
from bot.toolhost.subreaper import Command

MOST = 5
"""Commands that may run in the background at once."""

NO_LIMIT = 7 * 24 * 3600
"""Seconds; a run is over long before."""

_KILL_LIMIT = 3 * TERM_GRACE


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
        """Run it to its end: in the background on a thread of its own. For `lasting` see `shell.run_command`."""
        try:
            self.ended = shell.run_command(
                command, self.spill, cancelled=self.stopping, monitor=monitor, lasting=lasting
            )
            self.spill.finish()
        except OSError as error:
            self.failure = error.strerror or str(error)
        finally:
            self.over.set()

"""Try the checks of a policy once, with a progress line for each, and describe the results: for `init` and `doctor`."""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bot.cli.terminal.printer import Printer, encodable, one_line
from bot.contracts.formatting import count_of, exit_text
from bot.contracts.outcome import CheckState
from bot.evidence.check import last_line
from bot.session.local.trial import try_checks

if TYPE_CHECKING:
    from bot.session.local.trial import Trial

MINUTES = 2
_LONGEST = 300

ADVICE = {
    CheckState.FAILED: "It fails without any change; a change is not blamed for that.",
    CheckState.TIMED_OUT: "Narrow its command, or expect to wait for it.",
    CheckState.NOT_RUNNABLE: "Install what is missing on this machine, or in the policy's setup.",
    CheckState.NO_SOCKETS: "Download what it needs in the policy's setup, or leave the check to CI.",
    CheckState.NOT_RUN: "Fix the policy's setup.",
}


def try_with_progress(root: Path, policy_text: str, stream: TextIO) -> list[Trial]:
    """Return the checks that were tried before Ctrl-C. Raises `AgentError` if none can be."""

    printer = Printer(stream, os.environ)
    printer.line(
        f"Trying each check once in the sandbox, {MINUTES} minutes at most for each. Ctrl-C skips the rest."
    )
    line = _Line(stream, printer)
    try:
        return try_checks(root, policy_text, os.environ, line.begin, line.end, 60 * MINUTES)
    finally:
        line.end("not possible", 0)


def result_text(trial: Trial) -> str:
    """`passed, 352 tests, 12 s`, or the state with its reason, on one line."""
    run = trial.run
    tests = "" if trial.tests is None else count_of(trial.tests, "test")
    reason = one_line(run.note or last_line(run.tail))[:_LONGEST]
    match run.state:
        case CheckState.PASSED:
            return ", ".join(filter(None, ("passed", tests, f"{run.duration:.0f} s")))
        case CheckState.FAILED:
            return f"failed ({exit_text(run.exit_code or 0)}, {run.duration:.0f} s): {reason}"
        case CheckState.TIMED_OUT:
            return f"too slow: {reason}"
        case CheckState.NOT_RUN:
            return f"not run: {reason}"
        case _:
            return f"could not run here: {reason}"


@dataclass(slots=True)
class _Line:
    """Shows one line for the present step: at a terminal with the elapsed seconds, else once it ended."""

    stream: TextIO
    printer: Printer
    name: str = ""
    limit: float = 0
    began: float = 0
    over: threading.Event = field(default_factory=threading.Event)
    ticker: threading.Thread | None = None

    def begin(self, name: str, limit: float) -> None:
        self.name, self.limit, self.began = one_line(name)[:48], limit, time.monotonic()
        self.over = threading.Event()
        if self.stream.isatty():
            self.ticker = threading.Thread(target=self._tick, args=(self.over,), daemon=True)
            self.ticker.start()

    def end(self, how: str, seconds: float) -> None:
        if not self.name:
            return
        self.over.set()
        if self.ticker is not None:
            self.ticker.join()
            self.stream.write("\r\x1b[2K")
        self.printer.line(f"  {self.name}: {how}, {seconds or time.monotonic() - self.began:.0f} s")
        self.name, self.ticker = "", None

    def _tick(self, over: threading.Event) -> None:
        limit = f" s, limit {self.limit:.0f} s" if self.limit else " s"
        while not over.wait(1):
            text = f"  {self.name}: {time.monotonic() - self.began:.0f}{limit}"
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r\x1b[2K{encodable(text, self.stream.encoding or 'ascii')[:width]}")
            self.stream.flush()

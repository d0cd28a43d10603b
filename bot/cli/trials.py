"""Try the checks of a policy once, with a progress line for each, and describe the results: for `init` and `doctor`."""

import os
from pathlib import Path
from typing import TextIO

from bot.cli.terminal.printer import Printer, one_line
from bot.contracts.formatting import count_of, exit_text
from bot.contracts.outcome import CheckState
from bot.evidence.check import last_line
from bot.session.local.trial import Trial, try_checks

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

    say = Printer(stream).line
    say(f"Trying each check once in the sandbox, {MINUTES} minutes at most for each. Ctrl-C skips the rest.")
    return try_checks(root, policy_text, os.environ, lambda text: say(f"  {one_line(text)}"), 60 * MINUTES)


def result_text(trial: Trial) -> str:
    """`passed, 352 tests, 12 s`, or the state with its reason, on one line."""
    run = trial.run
    tests = "" if trial.tests is None else count_of(trial.tests, "test")
    reason = one_line(run.note or last_line(run.tail))[:_LONGEST]
    if run.state is CheckState.PASSED:
        return ", ".join(filter(None, ("passed", tests, f"{run.duration:.0f} s")))
    if run.state is CheckState.FAILED:
        return f"failed ({exit_text(run.exit_code or 0)}, {run.duration:.0f} s): {reason}"
    words = {CheckState.TIMED_OUT: "too slow", CheckState.NOT_RUN: "not run"}
    return f"{words.get(run.state, 'could not run here')}: {reason}"

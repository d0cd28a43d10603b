"""What a person at a terminal reads of a run at its end: a few lines.

All of it goes to a `say` that must not take a line of it for a command: a model writes some of these words.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.contracts.wording import count_of

Say = Callable[[str], None]


def say_outcome(outcome: Outcome, say: Say) -> None:
    """Status, why, sandbox, cost, checks, files, and what was held back or denied."""
    turns, tokens = count_of(outcome.turns, "turn"), count_of(outcome.usage.total, "token")
    say(f"status   {outcome.status} ({outcome.stop_reason}): {outcome.reason}")
    say(f"sandbox  {outcome.sandbox}")
    for note in outcome.wall.notes if outcome.wall else ():
        say(f"warning  {note}")
    say(f"model    {outcome.model}: {turns}, {tokens}, USD {outcome.cost:.4f}")
    for check in outcome.checks:
        say(f"check    {check.command}: before {_state(check.before)}, after {_state(check.after)}")
        if why := _why(check):
            say(f"         {why}")
    for file in outcome.files:
        say(f"file     {file.path}  +{file.additions} -{file.removals}")
    for held in outcome.withheld:
        say(f"withheld {held.path}: {held.reason}")
    for denial in outcome.denials:
        say(f"denied   {denial.tool} {denial.subject}: {denial.reason or denial.rule}")
    for note in outcome.notes:
        say(f"note     {note}")


def _state(run: CheckRun) -> str:
    word = run.state.value.replace("_", " ")
    return f"{word} (exit {run.exit_code})" if run.state is CheckState.FAILED else word


def _why(check: CheckResult) -> str:
    """Why a check says nothing, in the words of the run that did not run."""
    silent = (CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS)
    return next((run.note for run in (check.after, check.before) if run.state in silent), "")

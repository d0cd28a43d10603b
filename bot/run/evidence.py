"""The one line of the journal that holds all that was run before and after, as it is told in the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.contracts import journal as lines
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.contracts.tested import TestChanges
from bot.publish.evidence.look_first import look_first

if TYPE_CHECKING:
    from bot.agent.journal_file import JournalFile


def evidence(outcome: Outcome) -> lines.Evidence | None:
    """`None` where there is none."""
    first = tuple(look_first(outcome, outcome.files))
    found = lines.Evidence(outcome.checks, outcome.diagnostics, outcome.servers, outcome.coverage, first)
    return found if any(found) else None


def recorded_evidence(recorded: JournalFile) -> lines.Evidence:
    """That line of a run that died after it; else what its checks came to, one by one."""
    told = next(recorded.records(lines.Evidence), None)
    return told if told is not None else lines.Evidence(_checks(recorded))


def _checks(recorded: JournalFile) -> tuple[CheckResult, ...]:
    """The checks that had run. One after a change counts only if the session ended with it: else the tree went on."""
    ended = next(recorded.records(lines.SessionEnded), None) is not None
    runs = list(recorded.records(lines.Checked))
    after = {line.name: line for line in runs if line.phase == "after" and not line.again and ended}
    again = {line.name for line in runs if line.again and line.run.state is CheckState.PASSED and ended}
    return tuple(
        _result(line, after.get(line.name), line.name in again) for line in runs if line.phase == "before"
    )


def _result(before: lines.Checked, after: lines.Checked | None, passed_again: bool) -> CheckResult:
    """Without the names of tests, which the line of all evidence has alone."""
    run = after.run if after else CheckRun(CheckState.NOT_RUN, note="the run died before this check")
    counts = (before.tests, after.tests if after else None)
    tests = TestChanges(*counts, note="the run died before its tests were compared") if any(counts) else None
    return CheckResult(before.name, before.command, before.run, run, before.detected, passed_again, tests)

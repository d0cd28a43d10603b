"""The journal record with the evidence of a run, as in its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.contracts import journal as lines
from bot.contracts.evidence import TestChanges
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.publish.evidence.priorities import priorities

if TYPE_CHECKING:
    from bot.agent.journal_file import JournalFile


def evidence_record(outcome: Outcome) -> lines.Evidence | None:
    """Return the record of an outcome, `None` if it has no evidence."""
    look_first_lines = tuple(priorities(outcome, outcome.files))
    record = lines.Evidence(
        outcome.checks, outcome.diagnostics, outcome.servers, outcome.coverage, look_first_lines
    )
    return record if any(record) else None


def recorded_evidence(recorded: JournalFile) -> lines.Evidence:
    """Return the record from the journal of a dead run; else one made of the records of its checks."""
    record = next(recorded.records(lines.Evidence), None)
    return record if record is not None else lines.Evidence(_checks(recorded))


def _checks(recorded: JournalFile) -> tuple[CheckResult, ...]:
    """Return the recorded checks. One after the change counts only if the session ended: else the tree changed
    later."""
    ended = next(recorded.records(lines.SessionEnded), None) is not None
    runs = list(recorded.records(lines.CheckRecord))
    after = {line.name: line for line in runs if line.phase == "after" and not line.again and ended}
    again = {line.name for line in runs if line.again and line.run.state is CheckState.PASSED and ended}
    return tuple(
        _result(line, after.get(line.name), line.name in again) for line in runs if line.phase == "before"
    )


def _result(before: lines.CheckRecord, after: lines.CheckRecord | None, passed_again: bool) -> CheckResult:
    """Return a result without names of tests, which only the evidence record has."""
    run = after.run if after else CheckRun(CheckState.NOT_RUN, note="the run died before this check")
    counts = (before.tests, after.tests if after else None)
    tests = TestChanges(*counts, note="the run died before its tests were compared") if any(counts) else None
    return CheckResult(before.name, before.command, before.run, run, before.detected, passed_again, tests)

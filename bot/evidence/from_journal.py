"""The evidence that a journal has: its record of all results, or in a killed run what is known of each check."""

from bot.agent.journal import JournalFile
from bot.contracts.evidence import TestChanges
from bot.contracts.journal import CheckRecord, Evidence, PlannedCheck, SessionEnded
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, TestsAsTheyWere

_DIED = "the run ended before"


def recorded_evidence(recorded: JournalFile) -> Evidence:
    """Return the record from the journal of a dead run; else one made of the records of its checks."""
    return next(recorded.records(Evidence), None) or Evidence(_checks(recorded))


def _checks(recorded: JournalFile) -> tuple[CheckResult, ...]:
    """Return the planned checks as far as they are recorded. One after the change counts only if the session ended:
    else the tree changed later."""
    ended = next(recorded.records(SessionEnded), None) is not None
    runs = list(recorded.records(CheckRecord))
    before = {line.name: line for line in runs if line.phase == "before"}
    after = {line.name: line for line in runs if line.phase == "after" and not line.again and ended}
    again = {line.name for line in runs if line.again and line.run.state is CheckState.PASSED and ended}
    planned: dict[str, PlannedCheck | CheckRecord] = {check.name: check for check in recorded.header.checks}
    planned |= before
    names = planned.items()
    return tuple(_result(one, before.get(name), after.get(name), name in again) for name, one in names)


def _result(
    check: PlannedCheck | CheckRecord,
    before: CheckRecord | None,
    after: CheckRecord | None,
    passed_again: bool,
) -> CheckResult:
    """Return a result without names of tests, which only the evidence record has."""
    unknown = CheckRun(CheckState.NOT_RUN, note=_DIED)
    first, second = (line.run if line else unknown for line in (before, after))
    counts = (before.tests if before else None, after.tests if after else None)
    tests = TestChanges(*counts, note="the run died before its tests were compared") if any(counts) else None
    as_they_were = None
    if after and tests:  # whether the change touches tests is not known here
        died = "the run died before it"
        as_they_were = TestsAsTheyWere(CheckRun(CheckState.NOT_RUN, note=died), note=died)
    result = CheckResult(check.name, check.command, first, second, check.detected, passed_again, tests)
    return result._replace(as_they_were=as_they_were)

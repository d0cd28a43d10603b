"""The evidence that a journal has: its record of all results, or in a killed run what is known of each check."""

from collections.abc import Iterator

from bot.agent.journal import JournalFile
from bot.contracts.evidence import TestChanges
from bot.contracts.journal import CheckRecord, Evidence, PlannedCheck, SessionEnded
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, TestsAsTheyWere

_UNKNOWN = CheckRun(CheckState.NOT_RUN, note="the run ended before")
_BEFORE_IT = "the run died before it"


def recorded_evidence(recorded: JournalFile) -> Evidence:
    """Return the record from the journal of a dead run; else one made of the records of its checks."""
    return next(recorded.records(Evidence), None) or Evidence(tuple(_checks(recorded)))


def _checks(recorded: JournalFile) -> Iterator[CheckResult]:
    """Yield the planned checks as far as they are recorded, without names of tests, which only the evidence record has.
    A run after the change counts only if the session ended: else the tree changed later."""
    ended = next(recorded.records(SessionEnded), None) is not None
    runs = {
        (line.name, line.phase, line.again): line
        for line in recorded.records(CheckRecord)
        if ended or line.phase == "before"
    }
    known: list[CheckRecord | PlannedCheck] = [*runs.values(), *recorded.header.checks]
    for name, check in {one.name: one for one in known}.items():
        sides = (runs.get((name, "before", False)), runs.get((name, "after", False)))
        again = runs.get((name, "after", True))
        flaky = again is not None and again.run.state is CheckState.PASSED
        first, second = (line.run if line else _UNKNOWN for line in sides)
        counts = (sides[0] and sides[0].tests, sides[1] and sides[1].tests)
        tests = (
            TestChanges(*counts, note="the run died before its tests were compared") if any(counts) else None
        )
        result = CheckResult(name, check.command, first, second, check.detected, flaky, tests)
        if sides[1] and tests:  # whether the change touches tests is not known here
            not_run = CheckRun(CheckState.NOT_RUN, note=_BEFORE_IT)
            result = result._replace(as_they_were=TestsAsTheyWere(not_run, note=_BEFORE_IT))
        yield result

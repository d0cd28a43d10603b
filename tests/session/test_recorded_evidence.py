"""What a journal still knows of the checks of a run that died."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.agent.journal import Journal, read_journal
from bot.contracts import journal as lines
from bot.contracts.evidence import TestChanges, TestCounts
from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.evidence.from_journal import recorded_evidence
from tests.support.sessions import header

PASSED, FAILED = CheckRun(CheckState.PASSED, 0, 1.0), CheckRun(CheckState.FAILED, 1, 1.0)
COUNTS = TestCounts(3, 1, 0)
ENDED = lines.SessionEnded("end_turn", "it said so", 3)


def evidence_read(folder: Path, *records: lines.Record, planned: Sequence[str] = ()) -> lines.Evidence:
    checks = tuple(lines.PlannedCheck(name, f"run {name}") for name in planned)
    with Journal(folder / "journal.jsonl", str) as journal:
        journal.write(header()._replace(checks=checks))
        for record in records:
            journal.write(record)
    return recorded_evidence(read_journal(folder / "journal.jsonl"))


def checked(phase: str, run: CheckRun, **more: object) -> lines.CheckRecord:
    return lines.CheckRecord("tests", "pytest", phase, run, **more)  # type: ignore[arg-type]


def test_the_line_of_all_evidence_is_taken_as_it_is(tmp_path: Path):
    expected = lines.Evidence(
        (CheckResult("tests", "pytest", PASSED, FAILED, flaky=True, tests=TestChanges(flaky=("a",))),)
    )
    read = evidence_read(tmp_path, checked("before", PASSED), checked("after", PASSED), ENDED, expected)
    assert read == expected


@pytest.mark.parametrize(("second", "flaky"), [(PASSED, True), (FAILED, False), (None, False)])
def test_a_second_run_that_passed_makes_a_check_flaky(tmp_path: Path, second: CheckRun | None, flaky: bool):
    again = [checked("after", second, again=True)] if second else []
    [check] = evidence_read(
        tmp_path, checked("before", PASSED), checked("after", FAILED, tests=COUNTS), *again, ENDED
    ).checks
    assert (check.after, check.flaky) == (FAILED, flaky)
    assert check.tests == TestChanges(None, COUNTS, note="the run died before its tests were compared")


def test_a_check_after_a_change_that_went_on_does_not_count(tmp_path: Path):
    [check] = evidence_read(tmp_path, checked("before", PASSED), checked("after", PASSED)).checks
    assert (check.after.state, check.tests) == (CheckState.NOT_RUN, None)


def test_a_planned_check_that_the_run_did_not_reach_is_named(tmp_path: Path):
    tests, lint = evidence_read(tmp_path, checked("before", PASSED), planned=("tests", "lint")).checks
    assert (tests.name, tests.before, tests.after.note) == ("tests", PASSED, "the run ended before")
    assert (lint.name, lint.command) == ("lint", "run lint")
    assert {(run.state, run.note) for run in (lint.before, lint.after)} == {
        (CheckState.NOT_RUN, "the run ended before")
    }

"""What is said of a fix by the runs on the base."""

from __future__ import annotations

from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.check import Check
from bot.evidence.reruns import ONE_RUN, CheckExecution, check_result
from bot.evidence.tests import NameCounts, SuiteResult

FAILED, PASSED = CheckRun(CheckState.FAILED), CheckRun(CheckState.PASSED)
CHECK = Check("t", "make test", 60)
NAME = "tests/test_b.py::test"


def suite(counts: NameCounts) -> SuiteResult:
    return SuiteResult("pytest's output", {NAME: counts})


def test_a_fixed_test_that_ran_once_on_the_base_is_noted_and_one_that_passed_there_is_flaky() -> None:
    fails, passes = suite(NameCounts(failed=1)), suite(NameCounts(passed=1))
    after = CheckExecution(PASSED, passes)
    expected = [
        (CheckExecution(FAILED), "", (), ONE_RUN),
        (CheckExecution(FAILED, fails), NAME, (), ONE_RUN),
        (CheckExecution(FAILED, fails, fails), NAME, (), ""),
        (CheckExecution(FAILED, fails, passes), "", (NAME,), ""),
    ]
    for before, mended, flaky, note in expected:
        result = check_result(CHECK, before, after)
        assert result.before.note == note
        assert result.tests is not None
        assert (result.tests.mended, result.tests.flaky) == ((mended,) if mended else (), flaky)
    assert check_result(CHECK, CheckExecution(FAILED), CheckExecution(FAILED)).before.note == ""

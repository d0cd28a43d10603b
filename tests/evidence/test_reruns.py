"""Which fixed tests are run once more on the base, and what is said if they are not."""

from __future__ import annotations

import pytest

from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.check import Check
from bot.evidence.reruns import ONE_RUN, CheckExecution, check_result, names_to_confirm, with_confirmation
from bot.evidence.tests import NameCounts, SuiteResult

FAILED, PASSED = CheckState.FAILED, CheckState.PASSED
CHECK = Check("t", "make test", 60)


def ran(state: CheckState, tail: str = "", *failed: str) -> CheckExecution:
    reading = SuiteResult("pytest's output", dict.fromkeys(failed, NameCounts(failed=1))) if failed else None
    return CheckExecution(CheckRun(state, tail=tail), reading)


@pytest.mark.parametrize(
    ("before", "after", "changed", "is_confirmed"),
    [
        (ran(FAILED), ran(PASSED), ["src/a.py"], True),
        (ran(FAILED, "src/a.py:3: AssertionError"), ran(PASSED), ["src/a.py"], True),  # no test is named
        (
            ran(FAILED, "src/a.py:3: AssertionError", "tests/test_b.py::test"),
            ran(PASSED),
            ["src/a.py"],
            False,
        ),
        (ran(FAILED, "", "tests/test_a.py::test"), ran(PASSED), ["tests/test_a.py"], False),
        (ran(FAILED, "", "tests.test_a.A.test"), ran(PASSED), ["tests/test_a.py"], False),
        (ran(FAILED, "timeout", "tests/test_b.py::test"), ran(PASSED), ["src/a.py", "README.md"], True),
        (ran(FAILED, "a failure in b.a", "tests/test_b.py::test"), ran(PASSED), ["a"], False),
        (
            ran(FAILED, "a failure in b.a", "tests/test_b.py::test"),
            ran(PASSED),
            ["fail", "n", "failures"],
            True,
        ),
        (ran(FAILED, "", "tests/test_b.py::test"), ran(PASSED), [], True),
        (ran(FAILED), ran(FAILED), [], False),
        (ran(PASSED), ran(PASSED), [], False),
        (ran(CheckState.TIMED_OUT), ran(PASSED), [], False),
    ],
)
def test_only_a_failure_that_names_nothing_of_the_change_is_asked_again(
    before: CheckExecution, after: CheckExecution, changed: list[str], is_confirmed: bool
) -> None:
    assert (names_to_confirm(before, after, changed) is not None) is is_confirmed


def test_a_test_that_passes_then_is_flaky_and_not_fixed() -> None:
    name = "tests/test_b.py::test"
    second = CheckExecution(CheckRun(PASSED), SuiteResult("pytest's output", {name: NameCounts(1)}))
    before = with_confirmation(ran(FAILED, "", name), second)
    result = check_result(
        CHECK, before, CheckExecution(CheckRun(PASSED), SuiteResult("pytest's output", {name: NameCounts(1)}))
    )
    assert result.before.note == ""
    assert result.tests is not None
    assert (result.tests.mended, result.tests.flaky) == ((), (name,))


def test_only_what_was_not_flaky_at_once_is_run_once_more() -> None:
    before = ran(FAILED, "", "t.py::a", "t.py::b")
    again = SuiteResult("pytest's output", {"t.py::a": NameCounts(passed=1), "t.py::b": NameCounts(failed=1)})
    assert names_to_confirm(CheckExecution(before.run, before.suite, again), ran(PASSED), []) == {"t.py::b"}


def test_what_fails_again_is_known_to_and_what_cannot_be_run_again_is_not() -> None:
    first = ran(FAILED, "", "t.py::a")
    again = SuiteResult("pytest's output", {"t.py::a": NameCounts(failed=1)})
    assert with_confirmation(first, CheckExecution(CheckRun(FAILED), again)).run.note == ""
    for second in (None, ran(CheckState.TIMED_OUT), ran(CheckState.NOT_RUN)):
        assert with_confirmation(first, second).run.note == ONE_RUN
        assert with_confirmation(CheckExecution(first.run, first.suite, again), second).run.note == "", (
            "it failed twice"
        )

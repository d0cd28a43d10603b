"""Whether a check that failed before and passes now was mended."""

from __future__ import annotations

import pytest

from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.detect import Check
from bot.evidence.flaky import told
from bot.evidence.mended import NOT_ASKED, PASSED_IN_PEACE, asked_again, is_to_be_asked_again
from bot.evidence.ran import Ran
from bot.evidence.tests import Reading, Times

FAILED, PASSED = CheckState.FAILED, CheckState.PASSED
CHECK = Check("t", "make test", 60)


def ran(state: CheckState, tail: str = "", *failed: str) -> Ran:
    reading = Reading("pytest's output", dict.fromkeys(failed, Times(failed=1))) if failed else None
    return Ran(CheckRun(state, tail=tail), reading)


@pytest.mark.parametrize(
    ("before", "after", "changed", "asked"),
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
    before: Ran, after: Ran, changed: list[str], asked: bool
) -> None:
    assert is_to_be_asked_again(before, after, changed) is asked


def test_what_passes_then_is_flaky_with_its_tests_and_mended_by_nobody() -> None:
    before = asked_again(ran(FAILED, "", "tests/test_b.py::test"), ran(PASSED))
    result = told(
        CHECK, before, Ran(CheckRun(PASSED), Reading("pytest's output", {"tests/test_b.py::test": Times(1)}))
    )
    assert (result.flaky, result.before.note) == (True, PASSED_IN_PEACE)
    assert result.tests is not None
    assert (result.tests.mended, result.tests.flaky) == ((), ("tests/test_b.py::test",))


def test_what_fails_again_is_known_to_and_what_cannot_be_asked_is_not() -> None:
    first = ran(FAILED)
    assert asked_again(first, ran(FAILED)) == first
    for second in (None, ran(CheckState.TIMED_OUT), ran(CheckState.NOT_RUN)):
        found = asked_again(first, second)
        assert (found.run.state, found.run.note, found.passed_in_peace) == (FAILED, NOT_ASKED, False)

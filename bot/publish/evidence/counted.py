"""What counts against a change and what for it: checks that fail, problems that are new or gone."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contracts.outcome import CheckResult, CheckState, Outcome
from bot.contracts.problems import Problem, Severity
from bot.evidence.words import number_of

FAILED = frozenset({CheckState.FAILED, CheckState.TIMED_OUT})
_WITHOUT_RESULT = frozenset({CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})


def failing(checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The checks that fail with the change, whatever they did before, or that cannot run now and passed before or broke
    a test.

    The latter since the change writes what is read there: a line about a missing network excuses nothing. A flaky one
    failed and passed with the change, which is no excuse for a test that failed twice.
    """
    return tuple(check for check in checks if _fails(check))


def _fails(check: CheckResult) -> bool:
    if check.after.state in (CheckState.PASSED, CheckState.NOT_RUN):
        return False
    if check.tests and number_of(check.tests, "broken"):
        return True
    return (check.after.state in FAILED or was_disabled(check)) and not check.flaky


def was_disabled(check: CheckResult) -> bool:
    return check.before.state is CheckState.PASSED and check.after.state in _WITHOUT_RESULT


def new_problems(outcome: Outcome) -> tuple[Problem, ...]:
    """Those that there were not before, errors first. Nothing of a checker without an answer on both sides counts."""
    found = [problem for one in outcome.diagnostics if one.complete for problem in one.new]
    return tuple(sorted(found, key=lambda problem: problem.severity is not Severity.ERROR))


def fixed_problems(outcome: Outcome) -> tuple[Problem, ...]:
    return tuple(problem for one in outcome.diagnostics if one.complete for problem in one.fixed)


def count_new(outcome: Outcome) -> int:
    """All new problems, also those that the outcome does not list."""
    return sum(max(one.new_count, len(one.new)) for one in outcome.diagnostics if one.complete)


def count_fixed(outcome: Outcome) -> int:
    return sum(max(one.fixed_count, len(one.fixed)) for one in outcome.diagnostics if one.complete)

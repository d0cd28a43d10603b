"""Failing checks and new or fixed problems, also as lines of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contracts.evidence import Problem, Severity
from bot.contracts.formatting import count_of
from bot.contracts.outcome import CheckResult, CheckState, Outcome
from bot.evidence.failing_checks import fails_as_they_were
from bot.evidence.labels import AS_THEY_WERE, check_title, kinds_of, number_as_they_were, number_of
from bot.publish.markdown import safe_code, safe_line

FAILED = frozenset({CheckState.FAILED, CheckState.TIMED_OUT})
_WITHOUT_RESULT = frozenset({CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})


def failing(checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """Return the checks that fail with the change, whatever their result before; that break tests as they were before
    it; or that cannot run now and passed before or broke a test.

    The latter count since the change controls their output: it could print a line about a missing network. A flaky
    check failed and passed with the change, and counts only if it broke a test.
    """
    return tuple(check for check in checks if _fails(check))


def _fails(check: CheckResult) -> bool:
    if fails_as_they_were(check):
        return True
    if check.after.state in (CheckState.PASSED, CheckState.NOT_RUN):
        return False
    if check.tests and number_of(check.tests, "broken"):
        return True
    return (check.after.state in FAILED or was_disabled(check)) and not check.flaky


def was_disabled(check: CheckResult) -> bool:
    return check.before.state is CheckState.PASSED and check.after.state in _WITHOUT_RESULT


def new_problems(outcome: Outcome) -> tuple[Problem, ...]:
    """Return the new problems, errors first, of checkers with results before and after."""
    problems = [problem for one in outcome.diagnostics if one.complete for problem in one.new]
    return tuple(sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR))


def fixed_problems(outcome: Outcome) -> tuple[Problem, ...]:
    return tuple(problem for one in outcome.diagnostics if one.complete for problem in one.fixed)


def count_new(outcome: Outcome) -> int:
    """Return the number of new problems, with those that the outcome does not list."""
    return sum(max(one.new_count, len(one.new)) for one in outcome.diagnostics if one.complete)


def count_fixed(outcome: Outcome) -> int:
    return sum(max(one.fixed_count, len(one.fixed)) for one in outcome.diagnostics if one.complete)


_NOW = {CheckState.FAILED: "fails", CheckState.TIMED_OUT: "times out"}
_THEN = {CheckState.FAILED: "failed", CheckState.TIMED_OUT: "timed out"}
# Kinds of tests that are reported also if the check failed before.
_WORSE = frozenset({"broken", "vanished", "new_failing"})


def failures(checks: Sequence[CheckResult]) -> list[str]:
    """Return each failing check as a clause of Markdown with its result before the change."""
    return [f"{safe_code(check_title(check), 200)} {_failure(check)}" for check in failing(checks)]


def _failure(check: CheckResult) -> str:
    was, state = check.before.state, check.after.state
    if state is CheckState.PASSED and check.as_they_were:
        number = number_as_they_were(check.as_they_were, "failed")
        verb = "fails" if number == 1 else "fail"
        return f"passes, but {AS_THEY_WERE} {count_of(number, 'test')} {verb} that passed before the change"
    now = _NOW.get(state, "gives no result")
    if was is CheckState.PASSED:
        return f"{now}, and passed before the change"
    if was not in FAILED:
        return f"{now}; it has no result from before the change"
    then = "as before the change" if was is state else f"and {_THEN[was]} before the change"
    worse = [f"{kind.number:,} {kind.words}" for kind in kinds_of(check.tests) if kind.field in _WORSE]
    return f"{now}, {then}{', but worse: ' if worse else ''}{', '.join(worse)}"


def problem_line(problem: Problem) -> str:
    """Return one line of Markdown: `src/a.py:3` ruff F401: os is unused."""
    position = f"{problem.path}:{problem.line}" if problem.line else problem.path
    kind = " ".join(part for part in (problem.tool, problem.code) if part)
    return f"{safe_code(position)} {safe_line(kind, 80)}: {safe_line(problem.message, 200)}"

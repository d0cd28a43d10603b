"""The checks that fail with a change and the problems that are new or fixed, each also as a line of Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contracts.evidence import Problem, Severity
from bot.contracts.outcome import CheckResult, CheckState, Outcome
from bot.evidence.labels import kinds_of, number_of
from bot.publish.text.filters import safe_code, safe_line

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
    """The problems that are new, errors first. A checker counts only if it has results before and after."""
    problems = [problem for one in outcome.diagnostics if one.complete for problem in one.new]
    return tuple(sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR))


def fixed_problems(outcome: Outcome) -> tuple[Problem, ...]:
    return tuple(problem for one in outcome.diagnostics if one.complete for problem in one.fixed)


def count_new(outcome: Outcome) -> int:
    """All new problems, also those that the outcome does not list."""
    return sum(max(one.new_count, len(one.new)) for one in outcome.diagnostics if one.complete)


def count_fixed(outcome: Outcome) -> int:
    return sum(max(one.fixed_count, len(one.fixed)) for one in outcome.diagnostics if one.complete)


_NOW = {CheckState.FAILED: "fails", CheckState.TIMED_OUT: "times out"}
_THEN = {CheckState.FAILED: "failed", CheckState.TIMED_OUT: "timed out"}
# A failure from before is no excuse for what the change broke in the same check.
_WORSE = frozenset({"broken", "vanished", "new_failing"})


def failures(checks: Sequence[CheckResult]) -> list[str]:
    """Each failing check as a clause with its result before, which decides whose failure it is. Markdown."""
    return [f"{safe_code(check.command, 200)} {_failure(check)}" for check in failing(checks)]


def _failure(check: CheckResult) -> str:
    was, state = check.before.state, check.after.state
    now = _NOW.get(state, "gives no result")
    if was is CheckState.PASSED:
        return f"{now}, and passed before the change"
    if was not in FAILED:
        return f"{now}; it has no result from before the change"
    then = "as before the change" if was is state else f"and {_THEN[was]} before the change"
    worse = [f"{kind.number:,} {kind.words}" for kind in kinds_of(check.tests) if kind.field in _WORSE]
    return f"{now}, {then}{', but worse: ' if worse else ''}{', '.join(worse)}"


def problem_line(problem: Problem) -> str:
    """`src/a.py:3` ruff F401: os is unused. One line of Markdown."""
    position = f"{problem.path}:{problem.line}" if problem.line else problem.path
    kind = " ".join(part for part in (problem.tool, problem.code) if part)
    return f"{safe_code(position)} {safe_line(kind, 80)}: {safe_line(problem.message, 200)}"

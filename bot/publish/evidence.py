"""What a run proved, as the one table that the pull request and the job's summary show: checks, the tests in them,
checkers, coverage, before and after. Pure; what others wrote goes through the filters here, so a row is Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.contracts.problems import Answer, Compared, Problem, Severity, ToolRun
from bot.contracts.tested import Coverage, TestCounts
from bot.contracts.wording import count_of, duration
from bot.evidence.timed_out import IN_PEACE
from bot.evidence.words import kinds_of, no_figures, number_of
from bot.publish.text.markdown import cell
from bot.publish.text.shown import shown_code, shown_line

HEADINGS = ("Evidence", "Change", "Before → after")
_FAILED = frozenset({CheckState.FAILED, CheckState.TIMED_OUT})
_WITHOUT_RESULT = frozenset({CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
_GOOD, _BAD, _LOOK, _NOTHING = "✅", "❌", "⚠️", "⚪"
_REMARKS = 10
NO_CHECK = "No check was configured or found: no test was run."
"""Checkers alone would otherwise look as if the change had been tried."""
_NO_ANSWER = {Answer.TIMED_OUT: "timed out", Answer.UNAVAILABLE: "no answer"}
_STATES = {
    CheckState.PASSED: "passed",
    CheckState.FAILED: "**failed**",
    CheckState.TIMED_OUT: "**timed out**",
    CheckState.NOT_RUNNABLE: "not runnable",
    CheckState.NO_SOCKETS: "no network in the sandbox",
    CheckState.NOT_RUN: "not run",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. The cells are Markdown that stays in its cell. The change comes before what it is told
    from, and there are no more than three columns: of a wide table a phone shows the beginning."""

    what: str
    before: str
    after: str
    change: str

    @property
    def line(self) -> str:
        sides = " → ".join(side for side in (self.before, self.after) if side)
        return f"| {self.what} | {self.change} | {sides} |"


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
    return (check.after.state in _FAILED or _was_disabled(check)) and not check.flaky


def failures(checks: Sequence[CheckResult]) -> list[str]:
    """Each check that fails as a clause that says what it did before, which decides whose failure it is. Markdown."""
    return [f"{shown_code(check.command, 200)} {_failure(check)}" for check in failing(checks)]


def _failure(check: CheckResult) -> str:
    was, state = check.before.state, check.after.state
    now = _NOW.get(state, "gives no result")
    if was is CheckState.PASSED:
        return f"{now}, and passed before the change"
    if was not in _FAILED:
        return f"{now}; it has no result from before the change"
    then = "as before the change" if was is state else f"and {_THEN[was]} before the change"
    worse = [f"{kind.number:,} {kind.words}" for kind in kinds_of(check.tests) if kind.field in _WORSE]
    return f"{now}, {then}{', but worse: ' if worse else ''}{', '.join(worse)}"


def table(outcome: Outcome, most: int) -> tuple[list[str], int]:
    """The table's lines with at most `most` rows, the failing first; none where nothing was run. And how many rows were
    left out."""
    failed = failing(outcome.checks)
    checks = sorted(outcome.checks, key=lambda check: check not in failed)
    covered = [outcome.coverage] if outcome.coverage and outcome.coverage.files else []
    number = len(checks) + len(outcome.diagnostics) + len(covered)
    if not number:
        return [], 0
    rows = chain(map(_check_row, checks), map(_checker_row, outcome.diagnostics), map(_coverage_row, covered))
    head = [f"| {' | '.join(HEADINGS)} |", "| --- | --- | --- |"]
    return head + [row.line for row in islice(rows, most)], max(number - most, 0)


def remarks(outcome: Outcome) -> list[str]:
    """What a reader would otherwise take for evidence, and why something could not be run. Markdown, a line each."""
    noted = [outcome.coverage.note] if outcome.coverage and outcome.coverage.note else []
    found = chain(
        [] if outcome.checks or not outcome.diagnostics else [NO_CHECK],
        _check_remarks(outcome.checks),
        filter(None, map(_checker_remark, outcome.diagnostics)),
        (f"Coverage: {shown_line(note)}" for note in noted),
    )
    return list(islice(found, _REMARKS))


def problem_line(problem: Problem) -> str:
    """`src/a.py:3` ruff F401: os is unused. One line of Markdown."""
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    kind = " ".join(part for part in (problem.tool, problem.code) if part)
    return f"{shown_code(place)} {shown_line(kind, 80)}: {shown_line(problem.message, 200)}"


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


# Checks

_NOW = {CheckState.FAILED: "fails", CheckState.TIMED_OUT: "times out"}
_THEN = {CheckState.FAILED: "failed", CheckState.TIMED_OUT: "timed out"}
# A failure from before is no excuse for what the change broke in the same check.
_WORSE = frozenset({"broken", "vanished", "new_failing"})


def _check_row(check: CheckResult) -> Row:
    passed = check.after.state is CheckState.PASSED
    mark = _BAD if failing([check]) else _GOOD if passed else _NOTHING
    before, after = (check.tests.before, check.tests.after) if check.tests else (None, None)
    return Row(
        f"{mark} {cell(shown_code(check.command))}",
        _run(check.before, before),
        _run(check.after, after),
        _check_change(check),
    )


def _run(run: CheckRun, tests: TestCounts | None) -> str:
    words = _STATES[run.state]
    if run.state in (CheckState.NOT_RUN, CheckState.NOT_RUNNABLE):
        return words
    if tests is not None:
        failed, all_of_them = tests.failed, tests.passed + tests.failed
        words += f" ({failed:,} of {all_of_them:,})" if failed else f" ({all_of_them:,})"
    exit_code = f", exit {run.exit_code}" if run.exit_code is not None else ""
    return f"{words}{exit_code}, {duration(run.duration)}"


def _check_change(check: CheckResult) -> str:
    parts = []
    if check.tests is not None:
        for kind in kinds_of(check.tests):
            told = f"{kind.number:,} {kind.words}"
            parts.append(f"**{told}**" if kind.grave else told)
    elif check.before.state in _FAILED and check.after.state is CheckState.PASSED and not check.flaky:
        parts.append("mended")
    elif check.before.state is CheckState.PASSED and check.after.state in _FAILED and not check.flaky:
        parts.append("**broken**")
    if check.flaky and not (check.tests and number_of(check.tests, "flaky")):
        parts.append("flaky")
    if check.before.state is CheckState.TIMED_OUT and check.after.state is CheckState.PASSED:
        return "mended" if IN_PEACE in check.before.note else "not known"
    return ", ".join(parts)


def _was_disabled(check: CheckResult) -> bool:
    return check.before.state is CheckState.PASSED and check.after.state in _WITHOUT_RESULT


def _check_remarks(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks[: 2 * _REMARKS]:
        name = shown_code(check.command)
        states = (check.before.state, check.after.state)
        if _was_disabled(check):
            yield f"{name} passed before the change and gives no result with it: {shown_line(check.after.note)}"
        elif CheckState.NO_SOCKETS in states:
            yield f"{name} needs a network that the sandbox does not have: its result is no evidence."
        elif CheckState.NOT_RUNNABLE in states:
            why = check.after.note or check.before.note or "a tool or dependency is missing"
            yield f"{name} is not runnable here: {shown_line(why)}"
        late = check.before.state is CheckState.TIMED_OUT and check.before.note
        if late and check.after.state is not CheckState.TIMED_OUT:
            yield f"{name} timed out before the change: {shown_line(check.before.note)}"
        elif states == (CheckState.FAILED, CheckState.PASSED) and check.before.note:
            yield f"{name} failed before the change: {shown_line(check.before.note)}"
        if check.flaky:
            yield f"{name} failed and, run again on the same files, passed: it is flaky."
        if check.tests and check.tests.note:
            yield f"{name}: {shown_line(check.tests.note)}"
    if any(check.detected for check in checks):
        yield "Checks were detected, since the policy file names none."


# Checkers


def _checker_row(one: Compared) -> Row:
    name = cell(shown_code(one.named, 60))
    before, after = _tool_run(one.before), _tool_run(one.after)
    if words := no_figures(one):
        after = after if one.before.answer is Answer.COMPLETE else "not run"
        return Row(f"{_NOTHING} {name}", before, after, words)
    new, fixed = max(one.new_count, len(one.new)), max(one.fixed_count, len(one.fixed))
    told = f"**{new:,} new**" if new else "0 new"
    uncovered = max(one.uncovered_count, len(one.uncovered))
    told += f", {fixed:,} fixed" + (f", {uncovered:,} uncovered" if uncovered else "")
    return Row(f"{_LOOK if new else _GOOD} {name}", before, after, told)


def _tool_run(run: ToolRun) -> str:
    if run.answer is not Answer.COMPLETE:
        return _NO_ANSWER[run.answer]
    return f"{count_of(run.problems, 'problem')}, {duration(run.duration)}"


def _checker_remark(one: Compared) -> str:
    notes = dict.fromkeys(shown_line(run.note) for run in (one.before, one.after) if run.note)
    if one.environment:
        told = f"{one.environment:,} more say only that something is not installed here, and are not counted"
        notes[told] = None
    return f"{shown_code(one.tool + one.where, 60)}: {'; '.join(notes)}" if notes else ""


# Coverage


def _coverage_row(coverage: Coverage) -> Row:
    measured, covered = coverage.measured, coverage.covered
    missed = max(measured - covered, 0)
    mark = _NOTHING if not measured else _LOOK if missed else _GOOD
    share = f" ({100 * covered // measured} %)" if measured else ""
    told = f"{covered:,} of {count_of(measured, 'line')}{share}" if measured else "no line that can be run"
    return Row(f"{mark} Coverage of changed lines", "", told, f"{missed:,} not run" if missed else "")

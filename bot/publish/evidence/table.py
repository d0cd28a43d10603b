"""The one table of what a run proved: checks, the tests in them, checkers, coverage, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice

from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.contracts.problems import Answer, Compared, ToolRun
from bot.contracts.tested import Coverage, TestCounts
from bot.contracts.wording import count_of, duration, ending
from bot.evidence.reruns import ONE_RUN
from bot.evidence.words import kinds_of, no_figures, number_of
from bot.publish.evidence.counted import FAILED, failing
from bot.publish.text.markdown import cell
from bot.publish.text.shown import shown_code

_HEADINGS = ("Evidence", "Change", "Before → after")
_GOOD, _BAD, _LOOK, _NOTHING = "✅", "❌", "⚠️", "⚪"
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
    head = [f"| {' | '.join(_HEADINGS)} |", "| --- | --- | --- |"]
    return head + [row.line for row in islice(rows, most)], max(number - most, 0)


# Checks


def _check_row(check: CheckResult) -> Row:
    passed = check.after.state is CheckState.PASSED
    mark = _BAD if failing([check]) else _GOOD if passed else _NOTHING
    before, after = (check.tests.before, check.tests.after) if check.tests else (None, None)
    return Row(
        f"{mark} {cell(shown_code(check.related or check.command))}",
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
    ended = f", {ending(run.exit_code)}" if run.exit_code is not None else ""
    return f"{words}{ended}, {duration(run.duration)}"


def _check_change(check: CheckResult) -> str:
    parts = ["related tests only"] if check.related else []
    if check.tests is not None:
        for kind in kinds_of(check.tests):
            told = f"{kind.number:,} {kind.words}"
            parts.append(f"**{told}**" if kind.grave else told)
    elif check.before.state in FAILED and check.after.state is CheckState.PASSED and not check.flaky:
        parts.append("fixed")
    elif check.before.state is CheckState.PASSED and check.after.state in FAILED and not check.flaky:
        parts.append("**broken**")
    if check.flaky and not (check.tests and number_of(check.tests, "flaky")):
        parts.append("flaky")
    if check.before.state is CheckState.TIMED_OUT and check.after.state is CheckState.PASSED:
        return "not known"
    if any("fixed" in part for part in parts) and ONE_RUN in check.before.note:
        parts.append("one run each")
    return ", ".join(parts)


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


# Coverage


def _coverage_row(coverage: Coverage) -> Row:
    measured, covered = coverage.measured, coverage.covered
    missed = max(measured - covered, 0)
    mark = _NOTHING if not measured else _LOOK if missed else _GOOD
    share = f" ({100 * covered // measured} %)" if measured else ""
    told = f"{covered:,} of {count_of(measured, 'line')}{share}" if measured else "no line that can be run"
    return Row(f"{mark} Coverage of changed lines", "", told, f"{missed:,} not run" if missed else "")

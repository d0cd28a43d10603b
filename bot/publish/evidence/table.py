"""The table of evidence, and the remarks under it: why something could not be run or is no evidence. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from bot.contracts.evidence import Answer, CheckerComparison, Coverage, TestCounts, ToolRun
from bot.contracts.formatting import count_of, duration, exit_text
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome
from bot.evidence.labels import kinds_of, no_figures, number_of
from bot.evidence.reruns import ONE_RUN
from bot.publish.evidence.problems import FAILED, failing, was_disabled
from bot.publish.text.filters import safe_code, safe_line
from bot.publish.text.markdown import cell

_HEADINGS = ("Evidence", "Change", "Before → after")
_GOOD, _BAD, _ATTENTION, _NOTHING = "✅", "❌", "⚠️", "⚪"
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
    """The table's lines with at most `most` rows, the failing first; none if nothing was run. And how many rows were
    left out."""
    failed = failing(outcome.checks)
    checks = sorted(outcome.checks, key=lambda check: check not in failed)
    coverages = [outcome.coverage] if outcome.coverage and outcome.coverage.files else []
    number = len(checks) + len(outcome.diagnostics) + len(coverages)
    if not number:
        return [], 0
    rows = chain(
        map(_check_row, checks), map(_checker_row, outcome.diagnostics), map(_coverage_row, coverages)
    )
    head = [f"| {' | '.join(_HEADINGS)} |", "| --- | --- | --- |"]
    return head + [row.line for row in islice(rows, most)], max(number - most, 0)


# Checks


def _check_row(check: CheckResult) -> Row:
    passed = check.after.state is CheckState.PASSED
    mark = _BAD if failing([check]) else _GOOD if passed else _NOTHING
    before, after = (check.tests.before, check.tests.after) if check.tests else (None, None)
    return Row(
        f"{mark} {cell(safe_code(check.related or check.command))}",
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
    ended = f", {exit_text(run.exit_code)}" if run.exit_code is not None else ""
    return f"{words}{ended}, {duration(run.duration)}"


def _check_change(check: CheckResult) -> str:
    parts = ["related tests only"] if check.related else []
    if check.tests is not None:
        for kind in kinds_of(check.tests):
            text = f"{kind.number:,} {kind.words}"
            parts.append(f"**{text}**" if kind.grave else text)
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


def _checker_row(one: CheckerComparison) -> Row:
    name = cell(safe_code(one.named, 60))
    before, after = _tool_run(one.before), _tool_run(one.after)
    if words := no_figures(one):
        after = after if one.before.answer is Answer.COMPLETE else "not run"
        return Row(f"{_NOTHING} {name}", before, after, words)
    new, fixed = max(one.new_count, len(one.new)), max(one.fixed_count, len(one.fixed))
    text = f"**{new:,} new**" if new else "0 new"
    uncovered = max(one.uncovered_count, len(one.uncovered))
    text += f", {fixed:,} fixed" + (f", {uncovered:,} uncovered" if uncovered else "")
    return Row(f"{_ATTENTION if new else _GOOD} {name}", before, after, text)


def _tool_run(run: ToolRun) -> str:
    if run.answer is not Answer.COMPLETE:
        return _NO_ANSWER[run.answer]
    return f"{count_of(run.problems, 'problem')}, {duration(run.duration)}"


# Coverage


def _coverage_row(coverage: Coverage) -> Row:
    measured, covered_lines = coverage.measured, coverage.covered
    missed = max(measured - covered_lines, 0)
    mark = _NOTHING if not measured else _ATTENTION if missed else _GOOD
    share = f" ({100 * covered_lines // measured} %)" if measured else ""
    text = (
        f"{covered_lines:,} of {count_of(measured, 'line')}{share}" if measured else "no line that can be run"
    )
    return Row(f"{mark} Coverage of changed lines", "", text, f"{missed:,} not run" if missed else "")


_REMARKS = 10


def remarks(outcome: Outcome) -> list[str]:
    """A few remarks, each a line of Markdown."""
    noted = [outcome.coverage.note] if outcome.coverage and outcome.coverage.note else []
    lines = chain(
        _check_remarks(outcome.checks),
        filter(None, map(_checker_remark, outcome.diagnostics)),
        (f"Coverage: {safe_line(note)}" for note in noted),
    )
    return list(islice(lines, _REMARKS))


def _check_remarks(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks[: 2 * _REMARKS]:
        name = safe_code(check.command)
        states = (check.before.state, check.after.state)
        if was_disabled(check):
            yield f"{name} passed before the change and gives no result with it: {safe_line(check.after.note)}"
        elif CheckState.NO_SOCKETS in states:
            yield f"{name} needs a network that the sandbox does not have: its result is no evidence."
        elif CheckState.NOT_RUNNABLE in states:
            why = check.after.note or check.before.note or "a tool or dependency is missing"
            yield f"{name} is not runnable here: {safe_line(why)}"
        late = check.before.state is CheckState.TIMED_OUT and check.before.note
        if late and check.after.state is not CheckState.TIMED_OUT:
            yield f"{name} timed out before the change: {safe_line(check.before.note)}"
        elif states == (CheckState.FAILED, CheckState.PASSED) and check.before.note:
            yield f"{name} failed before the change: {safe_line(check.before.note)}"
        if check.scope_note:
            yield f"{name}: the whole suite was not run: {safe_line(check.scope_note)}"
        if check.flaky:
            yield f"{name} failed and, run again on the same files, passed: it is flaky."
        if check.tests and check.tests.note:
            yield f"{name}: {safe_line(check.tests.note)}"
    if any(check.detected for check in checks):
        yield "Checks were detected, since the policy file names none."


def _checker_remark(one: CheckerComparison) -> str:
    notes = dict.fromkeys(safe_line(run.note) for run in (one.before, one.after) if run.note)
    if one.environment:
        text = f"{one.environment:,} more say only that something is not installed here, and are not counted"
        notes[text] = None
    return f"{safe_code(one.tool + one.where, 60)}: {'; '.join(notes)}" if notes else ""

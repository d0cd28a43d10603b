"""The table of evidence, the remarks below it (why something could not run or is no evidence), and the folded details.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from bot.contracts.evidence import (
    Answer,
    CheckerComparison,
    Coverage,
    CoveredFile,
    Problem,
    TestCounts,
    ToolRun,
)
from bot.contracts.formatting import count_of, duration, exit_text
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome, TestsAsTheyWere
from bot.evidence.failing_checks import more_failing
from bot.evidence.labels import (
    AS_THEY_WERE,
    check_title,
    confirms,
    kinds_as_they_were,
    kinds_of,
    no_figures,
    no_result_as_they_were,
    number_of,
    short_tail,
)
from bot.evidence.reruns import ONE_RUN
from bot.publish import markdown
from bot.publish.evidence.problems import (
    FAILED,
    count_fixed,
    count_new,
    failing,
    fixed_problems,
    new_problems,
    problem_line,
    was_disabled,
)
from bot.publish.markdown import cell, safe_code, safe_html, safe_line, safe_tail

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
    """One line of the table. The cells are escaped Markdown. There are three columns with the change before the two
    results, since a phone shows only the beginning of a wide table."""

    what: str
    before: str
    after: str
    change: str

    @property
    def line(self) -> str:
        sides = " → ".join(side for side in (self.before, self.after) if side)
        return f"| {self.what} | {self.change} | {sides} |"


def table(outcome: Outcome, most: int) -> tuple[list[str], int]:
    """Return the table's lines with at most `most` rows, failing ones first, and how many rows are left out. There are
    no lines if nothing was run."""
    failed = failing(outcome.checks)
    checks = sorted(outcome.checks, key=lambda check: check not in failed)
    coverages = [outcome.coverage] if outcome.coverage and outcome.coverage.files else []
    as_were = sum(check.as_they_were is not None for check in checks)
    number = len(checks) + as_were + len(outcome.diagnostics) + len(coverages)
    if not number:
        return [], 0
    rows = chain(
        chain.from_iterable(map(_check_rows, checks)),
        map(_checker_row, outcome.diagnostics),
        map(_coverage_row, coverages),
    )
    head = [f"| {' | '.join(_HEADINGS)} |", "| --- | --- | --- |"]
    return head + [row.line for row in islice(rows, most)], max(number - most, 0)


# Checks


def _check_rows(check: CheckResult) -> Iterator[Row]:
    yield _check_row(check)
    if check.as_they_were is not None:
        yield _row_as_they_were(check, check.as_they_were)


def _row_as_they_were(check: CheckResult, result: TestsAsTheyWere) -> Row:
    parts = [no_result_as_they_were(result)] if result.note else []
    parts += [
        f"**{kind.words}**" if kind.field == "failed" else kind.words for kind in kinds_as_they_were(result)
    ]
    parts += ["tests in source files not comparable"] if result.inside and not result.note else []
    mark = _GOOD if confirms(result) else _BAD if result.failed else _NOTHING if result.note else _ATTENTION
    what = f"{mark} {cell(safe_code(check.related or check_title(check)))} {AS_THEY_WERE}"
    ran = "" if result.run.state is CheckState.NOT_RUN else _run(result.run, result.tests)
    return Row(what, "", ran, ", ".join(parts))


def _check_row(check: CheckResult) -> Row:
    passed = check.after.state is CheckState.PASSED
    good = _GOOD if confirms(check.as_they_were) else _ATTENTION
    mark = _BAD if failing([check]) else good if passed else _NOTHING
    before, after = (check.tests.before, check.tests.after) if check.tests else (None, None)
    return Row(
        f"{mark} {cell(safe_code(check.related or check_title(check)))}",
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
    kinds = list(kinds_of(check.tests))
    for kind in kinds:
        text = f"{kind.number:,} {kind.words}"
        parts.append(f"**{text}**" if kind.grave else text)
    if (
        not kinds
        and check.before.state in FAILED
        and check.after.state is CheckState.PASSED
        and not check.flaky
    ):
        parts += ["fixed"] if confirms(check.as_they_were) else []
    elif not kinds and (more := more_failing(check)):
        parts.append(f"**{more:,} more fail**")
    elif (
        not kinds
        and check.before.state is CheckState.PASSED
        and check.after.state in FAILED
        and not check.flaky
    ):
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
_PATHS_NAMED = 5


def remarks(outcome: Outcome) -> list[str]:
    """Return at most ten remarks, each a line of Markdown."""
    noted = [outcome.coverage.note] if outcome.coverage and outcome.coverage.note else []
    lines = chain(
        _check_remarks(outcome.checks),
        filter(None, map(_checker_remark, outcome.diagnostics)),
        (f"Coverage: {safe_line(note)}" for note in noted),
    )
    return list(islice(lines, _REMARKS))


def _check_remarks(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks[: 2 * _REMARKS]:
        name = safe_code(check_title(check))
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
        if check.as_they_were is not None:
            yield from _remarks_as_they_were(name, check.as_they_were)
    if any(check.detected for check in checks):
        yield "Checks were detected, since the policy file names none."


def _remarks_as_they_were(name: str, result: TestsAsTheyWere) -> Iterator[str]:
    if result.note:
        yield f"{name} {AS_THEY_WERE}: {no_result_as_they_were(result)}, {safe_line(result.note)}"
    for paths, words in (
        (result.inside, "its own tests are the change's, so they are not comparable"),
        (result.mixed, "may set up tests, and stayed as the change has it"),
    ):
        if paths:
            more = f" and {count_of(len(paths) - _PATHS_NAMED, 'more file')}" if paths[_PATHS_NAMED:] else ""
            yield f"{', '.join(map(safe_code, paths[:_PATHS_NAMED]))}{more} {AS_THEY_WERE}: {words}."


def _checker_remark(one: CheckerComparison) -> str:
    notes = dict.fromkeys(safe_line(run.note) for run in (one.before, one.after) if run.note)
    if one.environment:
        text = f"{one.environment:,} more say only that something is not installed here, and are not counted"
        notes[text] = None
    return f"{safe_code(one.tool + one.where, 60)}: {'; '.join(notes)}" if notes else ""


_TAILS = 3
_LISTED = 30
_LINES = 12


@dataclass(frozen=True, slots=True)
class Details:
    """`summary` is the visible line of the closed section: HTML, not Markdown."""

    summary: str
    text: str

    def html(self) -> str:
        return f"<details><summary>{self.summary}</summary>\n\n{self.text}\n\n</details>"


def evidence_details(outcome: Outcome, scale: float = 1.0) -> list[str]:
    """Return the folded sections as HTML. `scale` below 1 shortens their lists."""
    most = int(_LISTED * scale)
    details = [*_tests(outcome.checks, most), *(_tails(outcome.checks) if scale == 1 else ())]
    new, fixed = new_problems(outcome), fixed_problems(outcome)
    details += _problems("new", new, count_new(outcome), most)
    details += _problems("fixed", fixed, count_fixed(outcome), most)
    if outcome.coverage is not None:
        details += _coverage(outcome.coverage.files, most)
    return [one.html() for one in details]


def _tails(checks: Sequence[CheckResult]) -> Iterator[Details]:
    failed = [
        check
        for check in failing(checks)
        if check.after.tail.strip() and check.after.state is not CheckState.PASSED
    ]
    for check in failed[:_TAILS]:
        summary = f"Output of {safe_html(check_title(check))} after the change"
        yield Details(summary, markdown.fenced(safe_tail(short_tail(check.after.tail))))


def _tests(checks: Sequence[CheckResult], most: int) -> Iterator[Details]:
    for check in checks[:_TAILS]:
        lines: list[str] = []
        reasons = dict(check.tests.reasons) if check.tests else {}
        for kind in kinds_of(check.tests):
            for name in kind.names[:most]:
                why = f": {safe_code(reasons[name])}" if kind.grave and reasons.get(name) else ""
                lines.append(f"- {kind.words}: {safe_code(name)}{why}")
            if kind.names and (more := kind.number - len(kind.names[:most])) > 0:
                lines.append(f"- {kind.words}: {more:,} more")
        for kind in kinds_as_they_were(check.as_they_were) if check.as_they_were else ():
            lines += [f"- {AS_THEY_WERE}, {kind.words}: {safe_code(name)}" for name in kind.names[:most]]
        if lines:
            yield Details(f"Tests of {safe_html(check_title(check))}", "\n".join(lines))


def _problems(word: str, problems: Sequence[Problem], number: int, most: int) -> Iterator[Details]:
    if not problems or not most:
        return
    lines = [f"- {problem_line(problem)}" for problem in problems[:most]]
    if (more := number - len(problems[:most])) > 0:
        lines.append(f"- and {more:,} more")
    yield Details(count_of(number, f"{word} problem"), "\n".join(lines))


def _coverage(files: Sequence[CoveredFile], most: int) -> Iterator[Details]:
    missed = [file for file in files if file.covered < file.measured]
    lines = [f"- {safe_code(file.path)}{_numbers(file)}" for file in missed[:most]]
    if lines and (more := len(missed) - len(lines)) > 0:
        lines.append(f"- and {count_of(more, 'file')} more")
    if lines:
        yield Details("Changed lines that no test runs", "\n".join(lines))


def _numbers(file: CoveredFile) -> str:
    named = [str(number) for number in file.missed[:_LINES]]
    more = max(file.measured - file.covered, len(file.missed)) - len(named)
    if not named:
        return f": {count_of(more, 'line')}"
    word = "line" if len(named) == 1 and more <= 0 else "lines"
    return f": {word} {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}"

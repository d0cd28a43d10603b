"""The evidence of a run, worded once: what fails, what to look at first, rows, remarks, lists. Pure.

Printers only mark, escape and fold: `bot/publish/macros.py` for the pull request and the job's summary,
`evidence.html.j2` for the page, `bot/cli/print_result.py` for the terminal.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from bot.contracts.evidence import Answer, CheckerComparison, TestCounts, ToolRun
from bot.contracts.formatting import count_of, duration, exit_text
from bot.contracts.outcome import ChangedFile, CheckResult, CheckRun, CheckState, Outcome
from bot.evidence.failing_checks import is_failing, more_failing
from bot.evidence.labels import (
    AS_THEY_WERE,
    check_title,
    confirms,
    kinds_of,
    no_figures,
    no_result_as_they_were,
    number_of,
)
from bot.evidence.look_first import look_first
from bot.evidence.problems import KINDS, count_problems, problem_line, problems_of
from bot.evidence.reruns import ONE_RUN
from bot.evidence.styled_line import Line, code, joined, line, names, quote, strong
from bot.evidence.summary import CheckSummary, summarize_checks

Mark = Literal["good", "bad", "attention", "nothing"]

LISTED = 30
_PATHS_NAMED = 5
_FAILED = frozenset({CheckState.FAILED, CheckState.TIMED_OUT})
_WITHOUT_RESULT = frozenset({CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
# Kinds of tests that are reported also if the check failed before.
_WORSE = frozenset({"broken", "vanished", "new_failing"})
_NOW = {CheckState.FAILED: "fails", CheckState.TIMED_OUT: "times out"}
_STATES = {
    CheckState.PASSED: line("passed"),
    CheckState.FAILED: line(strong("failed")),
    CheckState.TIMED_OUT: line(strong("timed out")),
    CheckState.NOT_RUNNABLE: line("not runnable"),
    CheckState.NO_SOCKETS: line("no network in the sandbox"),
    CheckState.NOT_RUN: line("not run"),
}
_NO_ANSWER = {Answer.TIMED_OUT: "timed out", Answer.UNAVAILABLE: "no result"}


class Row(NamedTuple):
    """A check or a checker. `kind` is a label of one word, `command` what ran."""

    kind: str
    mark: Mark
    what: Line
    before: Line
    after: Line
    change: Line
    command: str = ""


class Section(NamedTuple):
    """A list, or the end of an `output`, for which not every place has room. A `grave` one is about a failing check,
    as are its first `grave` lines."""

    kind: Literal["tests", "output", "problems"]
    title: Line
    lines: Sequence[Line] = ()
    output: str = ""
    grave: int = 0


class View(NamedTuple):
    """`failures` are clauses, `look_first` and `remarks` sentences or lists."""

    summary: CheckSummary
    failures: Sequence[Line]
    look_first: Sequence[Line]
    rows: Sequence[Row]
    remarks: Sequence[Line]
    sections: Sequence[Section]


def view_of(
    outcome: Outcome, files: Sequence[ChangedFile] | None = None, scale: float = 1.0, listed: int = LISTED
) -> View:
    """Return the view of an outcome, failing checks first. `files` are those that are published, if they may differ.
    `scale` below 1 shortens all lists, which have at most `listed` lines of a kind."""
    checks = sorted(outcome.checks, key=fails, reverse=True)
    rows = chain(chain.from_iterable(map(_check_rows, checks)), map(_checker_row, outcome.diagnostics))
    return View(
        summarize_checks(outcome),
        tuple(line(code(check_title(check)), f" {_failure(check)}") for check in filter(fails, checks)),
        look_first(outcome, outcome.files if files is None else files, scale),
        tuple(rows),
        tuple(_remarks(outcome)),
        tuple(_sections(outcome, checks, int(listed * scale))),
    )


def fails(check: CheckResult) -> bool:
    """Whether the check fails with the change, whatever its result before; or breaks tests as they were before it; or
    cannot run now and passed before or broke a test.

    The latter counts since the change controls its output: it could print a line about a missing network. A flaky
    check failed and passed with the change, and counts only if it broke a test.
    """
    return is_failing(check, None) or (check.after.state in _FAILED and not check.flaky)


def _failure(check: CheckResult) -> str:
    was, state = check.before.state, check.after.state
    if state is CheckState.PASSED and check.as_they_were:
        number = number_of(check.as_they_were, "failed")
        what = f"{count_of(number, 'test')} {'fails' if number == 1 else 'fail'}"
        return f"passes, but {AS_THEY_WERE} {what} that passed before the change"
    now = _NOW.get(state, "gives no result")
    if was is CheckState.PASSED:
        return f"{now}, and passed before the change"
    if was not in _FAILED:
        return f"{now}; it has no result from before the change"
    then = "failed" if was is CheckState.FAILED else "timed out"
    earlier = "as before the change" if was is state else f"and {then} before the change"
    worse = [kind.counted for kind in kinds_of(check.tests) if kind.field in _WORSE]
    return f"{now}, {earlier}{', but worse: ' if worse else ''}{', '.join(worse)}"


def _check_rows(check: CheckResult) -> Iterator[Row]:
    passed, was = check.after.state is CheckState.PASSED, check.as_they_were
    good: Mark = "good" if confirms(was) else "attention"
    mark: Mark = "bad" if fails(check) else good if passed else "nothing"
    before, after = (check.tests.before, check.tests.after) if check.tests else (None, None)
    what = line(code(check.related or check_title(check)))
    sides = _run(check.before, before), _run(check.after, after)
    yield Row("check", mark, what, *sides, _check_change(check), check.command)
    if was is not None:
        parts = [line(no_result_as_they_were(was))] if was.note else []
        parts += [
            line(strong(kind.words) if kind.field == "failed" else kind.words) for kind in kinds_of(was)
        ]
        if was.inside and not was.note:
            parts.append(line("tests in source files not comparable"))
        doubt: Mark = "bad" if was.failed else "nothing" if was.note else "attention"
        ran = () if was.run.state is CheckState.NOT_RUN else _run(was.run, was.tests)
        mark = "good" if confirms(was) else doubt
        yield Row("check", mark, line(what, f" {AS_THEY_WERE}"), (), ran, joined(parts))


def _run(run: CheckRun, tests: TestCounts | None) -> Line:
    state = _STATES[run.state]
    if run.state in (CheckState.NOT_RUN, CheckState.NOT_RUNNABLE):
        return state
    counts = ""
    if tests is not None:
        number = f"{tests.ran:,}"
        number = f"{tests.failed:,} of {number}" if tests.failed else number
        counts = f" ({number}{f', {tests.skipped:,} skipped' if tests.skipped else ''})"
    ended = f", {exit_text(run.exit_code)}" if run.exit_code is not None else ""
    return line(state, f"{counts}{ended}, {duration(run.duration)}")


def _check_change(check: CheckResult) -> Line:
    was, state = check.before.state, check.after.state
    if was is CheckState.TIMED_OUT and state is CheckState.PASSED:
        return line("not known")
    kinds = list(kinds_of(check.tests))
    parts = ["related tests only"] if check.related else []
    parts += [kind.counted for kind in kinds if not kind.grave]
    grave = [kind.counted for kind in kinds if kind.grave]
    fixed = was in _FAILED and state is CheckState.PASSED and not check.flaky
    if not kinds and fixed:
        parts += ["fixed"] if confirms(check.as_they_were) else []
    elif not kinds and (more := more_failing(check)):
        grave.append(f"{more:,} more fail")
    elif not kinds and was is CheckState.PASSED and state in _FAILED and not check.flaky:
        grave.append("broken")
    if check.flaky and not number_of(check.tests, "flaky"):
        parts.append("flaky")
    if any("fixed" in part for part in parts) and ONE_RUN in check.before.note:
        parts.append("one run each")
    return joined([*(line(strong(part)) for part in grave), *map(line, parts)])


def _checker_row(one: CheckerComparison) -> Row:
    what, before, after = line(code(one.named)), _tool_run(one.before), _tool_run(one.after)
    if words := no_figures(one):
        after = after if one.before.answer is Answer.COMPLETE else line("not run")
        return Row("checker", "nothing", what, before, after, line(words), one.command)
    new, fixed = one.total("new"), one.total("fixed")
    change = line(strong(f"{new:,} new") if new else "0 new", f", {fixed:,} fixed")
    return Row("checker", "attention" if new else "good", what, before, after, change, one.command)


def _tool_run(run: ToolRun) -> Line:
    if run.answer is not Answer.COMPLETE:
        return line(_NO_ANSWER[run.answer])
    return line(f"{count_of(run.problems, 'problem')}, {duration(run.duration)}")


# Remarks: why something could not run or is no evidence


def _remarks(outcome: Outcome) -> Iterator[Line]:
    for check in outcome.checks:
        yield from _check_remarks(check)
    if any(check.detected for check in outcome.checks):
        yield line("Checks were detected, since the policy file names none.")
    for one in outcome.diagnostics:
        notes = [line(quote(note)) for note in dict.fromkeys((one.before.note, one.after.note)) if note]
        if one.environment:
            missing = "more only report something that is not installed here, and are not counted"
            notes.append(line(f"{one.environment:,} {missing}"))
        if notes:
            yield line(code(one.tool + one.where), ": ", joined(notes, "; "))


def _check_remarks(check: CheckResult) -> Iterator[Line]:
    name, before, after = code(check_title(check)), check.before, check.after
    states = (before.state, after.state)
    if before.state is CheckState.PASSED and after.state in _WITHOUT_RESULT:
        yield line(name, " passed before the change and gives no result with it: ", quote(after.note))
    elif CheckState.NO_SOCKETS in states:
        yield line(name, " needs a network that the sandbox does not have: its result is no evidence.")
    elif CheckState.NOT_RUNNABLE in states:
        why = after.note or before.note or "a tool or dependency is missing"
        yield line(name, " is not runnable here: ", quote(why))
    elif CheckState.NOT_RUN in states and (why := after.note or before.note):
        yield line(name, " was not run: ", quote(why))
    if before.state is CheckState.TIMED_OUT and before.note and after.state is not CheckState.TIMED_OUT:
        yield line(name, " timed out before the change: ", quote(before.note))
    elif states == (CheckState.FAILED, CheckState.PASSED) and before.note:
        yield line(name, " failed before the change: ", quote(before.note))
    if after.state is CheckState.FAILED and after.note and not check.flaky:
        yield line(name, " fails with the change: ", quote(after.note))
    if check.scope_note:
        yield line(name, ": the whole suite was not run: ", quote(check.scope_note))
    if check.flaky:
        yield line(name, " failed and, run again on the same files, passed: it is flaky.")
    if check.tests and check.tests.note:
        yield line(name, ": ", quote(check.tests.note))
    if result := check.as_they_were:
        own = "its own tests are the change's, so they are not comparable"
        set_up = "may set up tests, and stayed as the change has it"
        for paths, why in ((result.inside, own), (result.mixed, set_up)):
            if paths:
                yield line(names(paths, _PATHS_NAMED, noun="file"), f" {AS_THEY_WERE}: {why}.")


def _sections(outcome: Outcome, checks: Sequence[CheckResult], most: int) -> Iterator[Section]:
    for check in checks:
        if tests := list(_tests(check, most)):
            title, grave = line("Tests of ", code(check_title(check))), sum(is_grave for is_grave, _ in tests)
            yield Section("tests", title, [one for _, one in tests], grave=grave)
    for check in checks:
        runs = [(check.before, "before the change"), (check.after, "after the change")]
        runs += [(check.as_they_were.run, AS_THEY_WERE)] if check.as_they_were else []
        for run, when in runs:
            if run.tail.strip():
                failed = run is check.after and fails(check) and run.state is not CheckState.PASSED
                title = line("Output of ", code(check_title(check)), f" {when}")
                yield Section("output", title, output=run.tail, grave=int(failed))
    for kind in KINDS:
        if most and (problems := problems_of(outcome, kind)):
            listed = [problem_line(problem) for problem in problems[:most]]
            number = count_problems(outcome, kind)
            if (more := number - len(listed)) > 0:
                listed.append(line(f"and {more:,} more"))
            yield Section("problems", line(count_of(number, f"{kind} problem")), listed)


def _tests(check: CheckResult, most: int) -> Iterator[tuple[bool, Line]]:
    """Yield lines on tests, and whether each counts against the change."""
    reasons = dict(check.tests.reasons) if check.tests else {}
    for kind in kinds_of(check.tests):
        for name in kind.names[:most]:
            why = line(": ", code(reasons[name])) if kind.grave and reasons.get(name) else ()
            yield kind.grave, line(f"{kind.words}: ", code(name), why)
        if kind.names and (more := kind.number - len(kind.names[:most])) > 0:
            yield kind.grave, line(f"{kind.words}: {more:,} more")
    for kind in kinds_of(check.as_they_were):
        for name in kind.names[:most]:
            yield False, line(f"{AS_THEY_WERE}, {kind.words}: ", code(name))

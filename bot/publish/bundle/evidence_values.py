"""What no type can say of the evidence in a bundle: counts, times, lines. Pure; see `bot/publish/bundle/values.py`."""

from __future__ import annotations

import math
from collections.abc import Iterable

from bot.contracts.outcome import CheckResult, Outcome
from bot.contracts.problems import Compared, Problem
from bot.contracts.tested import Coverage

# Far beyond what a run makes, and little enough that rendering takes no time.
MAX_TOOLS = 100
MAX_LISTED = 2_000
_MAX_NUMBER = 10**9


def wrong_in_evidence(outcome: Outcome) -> str:
    """`field: why` for the first wrong value, empty where all is well."""
    found = (
        _counted("checks", len(outcome.checks), MAX_LISTED),
        _counted("diagnostics", len(outcome.diagnostics), MAX_TOOLS),
        _counted("servers", len(outcome.servers), MAX_TOOLS),
        *map(_check, outcome.checks),
        *map(_compared, outcome.diagnostics),
        *(
            _numbers("servers", (one.first_answer, one.asked, one.waited, one.memory / 1024))
            for one in outcome.servers
        ),
        _coverage(outcome.coverage) if outcome.coverage else "",
    )
    return next(filter(None, found), "")


def _check(check: CheckResult) -> str:
    tests = check.tests
    if tests is None:
        return ""
    listed = (
        tests.broken, tests.mended, tests.appeared, tests.vanished, tests.flaky, tests.newly_flaky,
        tests.new_failing, tests.counts, tests.reasons,
    )  # fmt: skip
    sides = [side for side in (tests.before, tests.after) if side]
    counts = (
        *(number for _, number in tests.counts),
        *(n for s in sides for n in (s.passed, s.failed, s.skipped)),
    )
    return _counted("checks.tests", max(map(len, listed)), MAX_LISTED) or _numbers("checks.tests", counts)


def _compared(one: Compared) -> str:
    counts = (one.new_count, one.fixed_count, one.remaining, one.environment, one.uncovered_count)
    listed = (one.new, one.fixed, one.uncovered)
    runs = [number for run in (one.before, one.after) for number in (run.problems, run.duration)]
    return (
        _counted("diagnostics", max(map(len, (*listed, one.projects))), MAX_LISTED)
        or _numbers("diagnostics", (*counts, *runs))
        or next(filter(None, (_problem(problem) for some in listed for problem in some)), "")
    )


def _problem(one: Problem) -> str:
    return _numbers("diagnostics.line", (one.line, one.column, one.end_line, one.end_column))


def _coverage(coverage: Coverage) -> str:
    if wrong := _counted("coverage.files", len(coverage.files), MAX_LISTED):
        return wrong
    for file in coverage.files:
        numbers = (file.measured, file.covered, file.measured - file.covered, *file.missed)
        if wrong := _numbers("coverage.files", numbers):
            return wrong
    return ""


def _counted(field: str, number: int, most: int) -> str:
    return f"{field}: {number:,} are over the limit of {most:,}" if number > most else ""


def _numbers(field: str, numbers: Iterable[float]) -> str:
    right = all(math.isfinite(number) and 0 <= number <= _MAX_NUMBER for number in numbers)
    return "" if right else f"{field}: a number is negative or out of range"

"""Parse test names and states from the output of known runners. Tests that are not printed are unknown: see
`ParsedTests.whole`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.ecosystems.registry import ecosystems
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, ParsedTests, Runner
from bot.toolhost.reports import reasons

LARGEST = 8 * 1024 * 1024
_LONGEST_LINE = 2_000


def parse(text: str, drop: str = "") -> ParsedTests | None:
    """The tests of all known runners in the output; `None` if there are none. `drop` is removed: the root's path."""
    if drop:
        text = text.replace(drop, "")
    lines = [line[:_LONGEST_LINE].rstrip() for line in text.split("\n")]
    whole: ParsedTests | None = None
    for runner in (runner for one in ecosystems() for runner in one.runners):
        tests = runner.read(lines)
        if tests is None:
            continue
        if whole is None:
            whole = tests
        else:
            whole.merge(tests)
    if whole is None:
        return _counted(lines)
    unexplained = [name for name in whole.names[FAILED] if name not in whole.reasons]
    for name, reason in reasons.of_output(lines, unexplained) if unexplained else ():
        whole.explain(name, reason)
    return whole


def _counted(lines: Sequence[str]) -> ParsedTests | None:
    """The numbers by the lines in which runners that are not read otherwise sum up; no test is named."""
    patterns = [re.compile(pattern) for one in ecosystems() for pattern in one.counts]
    totals = dict.fromkeys((PASSED, FAILED, SKIPPED), 0)
    for line in lines:
        match = next((match for pattern in patterns if (match := pattern.fullmatch(line))), None)
        if match is None:
            continue
        found = {name: int(number or 0) for name, number in match.groupdict().items()}
        failed, skipped = found.get("failed", 0) + found.get("errors", 0), found.get("skipped", 0)
        totals[FAILED] += failed
        totals[SKIPPED] += skipped
        totals[PASSED] += found.get("passed", max(found.get("ran", 0) - failed - skipped, 0))
    if not any(totals.values()):
        return None
    tests = ParsedTests("the output's numbers", whole=False)
    tests.totals = totals
    return tests


def reporting_runner() -> Runner:
    """The runner that can be told to write a report."""
    return next(runner for one in ecosystems() for runner in one.runners if runner.end)


def runs_of(runner: Runner, text: str) -> int:
    """The number of runs of this runner in its output."""
    lines = (line.rstrip() for line in text.split("\n") if " in " in line[-200:])
    return sum(bool(runner.end and runner.end.fullmatch(line)) for line in lines)

"""Decide which runs of a check are repeated, and make the result. Pure.

- A test that fails on the base runs again at once, if the runner can select it. If it passes then, it is flaky.
- A check that got worse runs again: first its failing tests alone in the same tree, which is cheap. If one of them
  passes, the whole check runs on a fresh tree: a test that fails only after others is not flaky, and leftovers of the
  first run must not make the second one pass.
- If a check failed before the change and passes with it, the fixed tests run once more on a fresh base, when no command
  of the agent's is alive, unless their failure names a file of the change. If they cannot run alone, or time is short,
  the result notes that there was one run each.

Checks that timed out do not run again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.evidence.check import Check
from bot.evidence.coverage import MeasuredCoverage
from bot.evidence.tests import SuiteResult, compare_tests, flaky_tests, newly_failed

PASSED_AGAIN = "run again on the same files it passed"
NO_TIME = "it was not run again, since the time for checks is spent"
ONE_RUN = "one run each, so whether it is flaky is not known"
_FAILED_STATES = frozenset({CheckState.FAILED, CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
_NOT_REACHED = "it timed out before the change, so what appeared may only not have been reached then"


@dataclass(frozen=True, slots=True)
class CheckExecution:
    """A run of a check, and its tests if they could be read. `rerun_suite` are the tests of a second run of what
    failed, `coverage` is the coverage of the changed lines. `opened` are the changed files that it opened, `None` if
    that is unknown."""

    run: CheckRun
    suite: SuiteResult | None = None
    rerun_suite: SuiteResult | None = None
    coverage: MeasuredCoverage | None = None
    opened: frozenset[str] | None = None


def failed_before(execution: CheckExecution) -> frozenset[str]:
    """Return the tests that failed on the base."""
    return (
        execution.suite.failed
        if execution.suite and execution.run.state is CheckState.FAILED
        else frozenset()
    )


def newly_failed_after(before: CheckExecution, after: CheckExecution) -> frozenset[str]:
    """Return the tests of a check that got worse that fail only with the change."""
    return newly_failed(before.suite, after.suite) if needs_rerun(before, after) else frozenset()


def needs_rerun(before: CheckExecution, after: CheckExecution) -> bool:
    """Whether the whole check runs again with the change: it got worse, and its failures did not repeat alone."""
    if after.run.state not in _FAILED_STATES:
        return False
    changes = compare_tests(before.suite, after.suite)
    worse = before.run.state is CheckState.PASSED and after.run.state is CheckState.FAILED
    if not worse and not (changes and changes.broken):
        return False
    suspects = newly_failed(before.suite, after.suite)
    return not (suspects and after.rerun_suite is not None and suspects <= after.rerun_suite.failed)


def names_to_confirm(
    before: CheckExecution, after: CheckExecution, changed: Collection[str]
) -> frozenset[str] | None:
    """Return the fixed tests to run once more on the base; `None` if nothing was fixed, or if the failure names a file
    of `changed`. Empty if the check passes now and names no tests."""
    if (before.run.state, after.run.state) != (CheckState.FAILED, CheckState.PASSED):
        return None
    failed = before.suite.failed if before.suite else frozenset()
    printed = "\n".join([before.run.tail, *failed])
    if failed and any(_names_file(printed, path) for path in changed):
        return None
    return failed - flaky_tests(before.suite, before.rerun_suite)


def with_confirmation(before: CheckExecution, second: CheckExecution | None) -> CheckExecution:
    """Return the base run with the result of its `second` run, `None` if there was none."""
    if second is not None and second.suite is not None and second.suite.tests:
        tests = {**(before.rerun_suite.tests if before.rerun_suite else {}), **second.suite.tests}
        return replace(before, rerun_suite=replace(second.suite, tests=tests))
    if before.rerun_suite is not None:
        return before
    return replace(before, run=replace(before.run, note="; ".join(filter(None, [before.run.note, ONE_RUN]))))


def check_result(
    check: Check,
    before: CheckExecution,
    after: CheckExecution,
    second: CheckExecution | None = None,
    note: str = "",
    confirmed: Collection[str] | None = None,
) -> CheckResult:
    """Return the result of a check. `second` is a rerun of the whole check with the change; `note` is the reason why a
    due one is missing. Only tests in `confirmed` are mended, `None` for any."""
    passed = second is not None and second.run.state is CheckState.PASSED
    flaky = flaky_tests(before.suite, before.rerun_suite)
    if second is not None:
        flaky |= flaky_tests(after.suite, second.suite, passed=passed)
    run = after.run
    if passed or note:
        run = replace(run, note="; ".join(filter(None, [run.note, PASSED_AGAIN if passed else note])))
    note_on_tests = _NOT_REACHED if before.run.state is CheckState.TIMED_OUT else ""
    tests = (
        compare_tests(before.suite, after.suite, flaky, note_on_tests, confirmed)
        if run.state is not CheckState.NOT_RUN
        else None
    )
    return CheckResult(check.name, check.command, before.run, run, check.detected, passed, tests)


def _names_file(printed: str, path: str) -> bool:
    module = path.rpartition(".")[0].replace("/", ".")
    return _contains_word(path, printed) or ("." in module and _contains_word(module, printed))


def _contains_word(name: str, printed: str) -> bool:
    """Whether `printed` contains `name` as a whole word."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", printed) is not None

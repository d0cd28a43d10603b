"""Decide which runs of a check are repeated, and make the result. Pure.

- A test that fails on the base runs again at once, if the runner can select it. If it passes then, it is flaky.
- A check that got worse runs again: first its failing tests alone in the same tree, which is cheap. If one of them
  passes, the whole check runs on a fresh tree: a test that fails only after others is not flaky, and leftovers of the
  first run must not make the second one pass.
- If a check failed before the change and passes with it, and its tests cannot run alone, the result notes that there
  was one run each.

Checks that timed out do not run again. `bot/session/checks` carries this out: `runner.py` the first repeat,
`rounds.py` the second.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from bot.contracts.evidence import TestCounts
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, TestsAsTheyWere
from bot.evidence.check import Check
from bot.evidence.tests import SuiteResult, compare_tests, flaky_tests, newly_failed

PASSED_AGAIN = "run again on the same files it passed"
NO_TIME = "it was not run again, since the time for checks is spent"
ONE_RUN = "one run each, so whether it is flaky is not known"
_FAILED_STATES = frozenset({CheckState.FAILED, CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS})
_NOT_REACHED = "it timed out before the change, so what appeared may only not have been reached then"


class CheckExecution(NamedTuple):
    """A run of a check, and its tests if they could be read. `rerun_suite` are the tests of a second run of what
    failed. `opened` are the changed files that it opened, `None` if that is unknown."""

    run: CheckRun
    suite: SuiteResult | None = None
    rerun_suite: SuiteResult | None = None
    opened: frozenset[str] | None = None

    @property
    def counts(self) -> TestCounts | None:
        return self.suite.counts if self.suite else None

    @property
    def counts_tests(self) -> bool:
        """Whether tests that ran are known by name or number."""
        return self.counts is not None and self.counts.ran > 0


def failed_before(execution: CheckExecution) -> frozenset[str]:
    """Return the tests that failed on the base."""
    suite = execution.suite if execution.run.state is CheckState.FAILED else None
    return suite.failed if suite else frozenset()


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


@dataclass
class CheckPair:
    """A check before and after the change. `narrowed` is the reason why only the tests related to the change ran, by
    the commands `related`, before and after. `second` is a rerun of the whole check with the change, `note` the reason
    why a due one is missing. If the change touches tests, `as_they_were` is the result with the base's tests, and only
    tests in `confirmed` are fixed, `None` for any."""

    check: Check
    before: CheckExecution
    after: CheckExecution
    second: CheckExecution | None = None
    note: str = ""
    narrowed: str = ""
    related: tuple[str, str] = ("", "")
    as_they_were: TestsAsTheyWere | None = None
    confirmed: Collection[str] | None = None

    @property
    def ran(self) -> Check:
        """The check with the command that ran after the change."""
        return self.check._replace(command=self.related[1] or self.check.command)

    @property
    def _passed_again(self) -> bool:
        """Whether a second run passed with as many tests: with fewer it says nothing of those that failed."""
        if self.second is None or self.second.run.state is not CheckState.PASSED:
            return False
        ran, again = (one.counts.ran if one.counts else 0 for one in (self.after, self.second))
        return again >= ran

    def result(self) -> CheckResult:
        passed = self._passed_again
        flaky = flaky_tests(self.before.suite, self.before.rerun_suite)
        if self.second is not None:
            flaky |= flaky_tests(self.after.suite, self.second.suite, passed=passed)
        first, run = self.before.run, self.after.run
        if passed or self.note:
            run = _noted(run, PASSED_AGAIN if passed else self.note)
        if (first.state, run.state) == (CheckState.FAILED, CheckState.PASSED) and not self.before.rerun_suite:
            first = _noted(first, ONE_RUN)
        tests = None
        if run.state is not CheckState.NOT_RUN:
            limits = _NOT_REACHED if first.state is CheckState.TIMED_OUT else ""
            tests = compare_tests(self.before.suite, self.after.suite, flaky, limits, self.confirmed)
        return CheckResult(
            self.check.name,
            self.check.command,
            first,
            run,
            self.check.detected,
            passed,
            tests,
            self.related[1],
            self.narrowed,
            self.as_they_were,
        )


def _noted(run: CheckRun, note: str) -> CheckRun:
    return run._replace(note="; ".join(filter(None, [run.note, note])))

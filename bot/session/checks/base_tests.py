"""The round with the tests as they were: the checks that count tests, on the changed source with the base's tests.

It runs only if the change touches tests, within what is left of the time for checks. `bot.evidence.base_tests`
compares the results.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.checkout.git import GitError
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckState
from bot.ecosystems.suite_files import suite_of
from bot.evidence.base_tests import (
    NO_TIME,
    ChangedSuite,
    changed_suite,
    compare,
    confirmed_tests,
    suite_of_check,
)
from bot.evidence.reruns import CheckExecution
from bot.evidence.summary import may_run_tests
from bot.session.checks.after_round import AfterRound, CheckPair
from bot.session.checks.before_round import MARGIN
from bot.session.checks.runner import CheckRunner, not_run

_RAN = (CheckState.PASSED, CheckState.FAILED)
_INSIDE = "the change edits tests in source files"
_NO_RELATED_TESTS = "the related tests are not there before the change"


class AsTheyWereRound(AfterRound):
    """The round with the change, and then the one with the tests as they were."""

    def execute(self) -> list[CheckPair]:
        super().execute()
        numbers = self._numbers()
        try:
            changed = self._changed_suite()
        except GitError as error:
            for number in numbers:
                self._conclude(number, not_run(str(error)), ChangedSuite())
            return self._pairs
        pairs = {number: self._pairs[number] for number in numbers}
        suites = {number: suite_of_check(changed, one.before, one.after) for number, one in pairs.items()}
        suites = {number: suite for number, suite in suites.items() if suite.put_back or suite.inside}
        for number, execution in self._executions(suites).items():
            self._conclude(number, execution, suites[number])
        return self._pairs

    def _conclude(self, number: int, execution: CheckExecution, suite: ChangedSuite) -> None:
        pair = self._pairs[number]
        pair.as_they_were = compare(pair.before, pair.after, execution, suite)
        pair.confirmed = confirmed_tests(execution, pair.as_they_were)

    def _changed_suite(self) -> ChangedSuite:
        history = self._history
        changed, renamed = history.changes(self._tree)
        sources = [path for path in changed if suite_of(path)]
        texts = history.texts(sources), history.texts(sources, self._tree)
        return changed_suite(changed, set(renamed.values()), *texts, history.paths())

    def _numbers(self) -> list[int]:
        """Return the checks that count tests; if there are none, those that may run some."""
        ran = [number for number, pair in enumerate(self._pairs) if pair.after.run.state in _RAN]
        counting = [
            number for number in ran if self._pairs[number].before.suite or self._pairs[number].after.suite
        ]
        return counting or [number for number in ran if may_run_tests(self.checks[number].command)]

    def _executions(self, suites: Mapping[int, ChangedSuite]) -> Mapping[int, CheckExecution]:
        put_back = next((suite.put_back for suite in suites.values()), ())
        if not put_back:
            return dict.fromkeys(suites, not_run(_INSIDE))
        try:
            tree = self._history.with_base_files(self._tree, put_back)
            if tree == self._history.base_tree():
                return {number: self._pairs[number].before for number in suites}
        except GitError as error:
            return dict.fromkeys(suites, not_run(str(error)))
        executions = self._run_as_they_were(suites, tree)
        for number, execution in executions.items():
            self._record("as_they_were", self.checks[number], execution)
        return executions

    def _command(self, number: int) -> str:
        """Return the command with the base's tests; empty if a check was narrowed to tests that are new."""
        pair = self._pairs[number]
        return pair.base_command if pair.narrowed else pair.check.command

    def _run_as_they_were(self, suites: Mapping[int, ChangedSuite], tree: str) -> dict[int, CheckExecution]:
        executions = {number: not_run(why) for number in suites if (why := self._hindrance(number))}
        if len(executions) == len(suites):
            return executions
        try:
            with self.trees.for_checks(f"checks-as-they-were-{self._number}", self.cancel, tree) as workspace:
                runner = self._runner(workspace)
                for number, suite in suites.items():
                    if number not in executions:
                        executions[number] = self._run_one(runner, number, suite)
        except AgentError as error:
            return dict.fromkeys(suites, not_run(str(error))) | executions
        return executions

    def _run_one(self, runner: CheckRunner, number: int, suite: ChangedSuite) -> CheckExecution:
        """Run a check if there is still time: those before it may have taken longer than before."""
        if why := self._hindrance(number):
            return not_run(why)
        pair, command = self._pairs[number], self._command(number)
        return runner.run(
            self.checks[number]._replace(command=command),
            f"check with the tests as they were: {command}",
            lambda: self.budget.left_for_reruns,
            lambda execution: compare(pair.before, pair.after, execution, suite).failed,
        )

    def _hindrance(self, number: int) -> str:
        """Return why a check does not run; empty if it does."""
        if self.cancel.fired:
            return "the run was cancelled"
        if not self._command(number):
            return _NO_RELATED_TESTS
        needed = max(self._pairs[number].after.run.duration * MARGIN, 1)
        return NO_TIME if self.budget.left_for_reruns < needed else ""

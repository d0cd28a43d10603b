"""The round with the tests as they were: the checks that count tests, on the changed source with the base's tests.

It runs only if the change touches tests, within what is left of the time for checks. `bot.evidence.as_they_were`
compares the results.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.checkout.git import GitError
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckState
from bot.ecosystems.suite_files import suite_of
from bot.evidence.as_they_were import (
    NO_TIME,
    ChangedSuite,
    changed_suite,
    compare,
    confirmed_tests,
    suite_of_check,
)
from bot.evidence.reruns import CheckExecution
from bot.evidence.summary import may_run_tests
from bot.session.checks.after_round import BaseRuns, CheckPair
from bot.session.checks.before_round import BeforeRound, Round
from bot.session.checks.check_time import MARGIN
from bot.session.checks.runner import SKIPPED, CheckRunner, RunOptions, not_run
from bot.session.context.git_trees import GitTrees

_RAN = (CheckState.PASSED, CheckState.FAILED)
_INSIDE = "the change edits tests in source files"
_NO_RELATED_TESTS = "the related tests are not there before the change"


class AsTheyWereRound(Round):
    """The round for one tree. `number` is its number in the run; `pairs` are the results of the round before it."""

    def __init__(
        self, before: BeforeRound, base_runs: BaseRuns, number: int, tree_sha: str, pairs: list[CheckPair]
    ) -> None:
        super().__init__(before.run, before.trees, before.checks, before.inspection, before.budget)
        self._history = GitTrees(before.run.checkout)
        self._base_runs = base_runs
        self._number = number
        self._tree = tree_sha
        self._pairs = pairs
        self._suites: dict[int, ChangedSuite] = {}

    def execute(self) -> None:
        """Add the results to the pairs."""
        numbers = self._numbers()
        try:
            changed = self._changed_suite()
        except GitError as error:
            for number in numbers:
                self._conclude(number, not_run(str(error)), ChangedSuite())
            return
        for number in numbers:
            suite = suite_of_check(changed, self._pairs[number].before, self._pairs[number].after)
            if suite.put_back or suite.inside:
                self._suites[number] = suite
        for number, execution in self._executions().items():
            self._conclude(number, execution, self._suites[number])

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

    def _executions(self) -> Mapping[int, CheckExecution]:
        put_back = next((suite.put_back for suite in self._suites.values()), ())
        if not put_back:
            return dict.fromkeys(self._suites, not_run(_INSIDE))
        try:
            tree = self._history.with_base_files(self._tree, put_back)
            if tree == self._history.base_tree():
                return {number: self._pairs[number].before for number in self._suites}
        except GitError as error:
            return dict.fromkeys(self._suites, not_run(str(error)))
        due = [number for number in self._suites if (number, self._key(number, tree)) not in self._base_runs]
        if due:
            self._run_checks(due, tree)
        return {number: self._base_runs[number, self._key(number, tree)] for number in self._suites}

    def _key(self, number: int, tree: str) -> str:
        return f"{tree} {self._command(number)}"

    def _command(self, number: int) -> str:
        """Return the command with the base's tests; empty if a check was narrowed to tests that are new."""
        pair = self._pairs[number]
        return pair.base_command if pair.narrowed else pair.check.command

    def _run_checks(self, due: list[int], tree: str) -> None:
        name, cancel = f"checks-as-they-were-{self._number}", self.run.stop
        options = RunOptions(
            rerun_tests=self._failed,
            limit=lambda number: self.budget.left_for_reruns,
            timed=self.budget.running,
            begin=self._begin,
            on_output=self.waits.printed,
        )
        executions = {number: not_run(why) for number in due if (why := self._hindrance(number))}
        try:
            if len(executions) < len(due):
                with self.trees.for_checks(name, cancel, tree) as workspace:
                    runner = self._runner(workspace, options)
                    for number in due:
                        if number not in executions:
                            executions[number] = self._run_check(runner, number)
        except AgentError as error:
            executions = {**dict.fromkeys(due, not_run(str(error))), **executions}
        for number, execution in executions.items():
            self._base_runs[number, self._key(number, tree)] = execution
            self._record("as_they_were", self.checks[number], execution)

    def _run_check(self, runner: CheckRunner, number: int) -> CheckExecution:
        """Run a check if there is still time: those before it may have taken longer than before."""
        if why := self._hindrance(number):
            return not_run(why)
        return runner.run(number, replace(self.checks[number], command=self._command(number)))

    def _hindrance(self, number: int) -> str:
        """Return why a check does not run; empty if it does."""
        if self.run.stop.fired:
            return "the run was cancelled"
        if not self._command(number):
            return _NO_RELATED_TESTS
        needed = max(self._pairs[number].after.run.duration * MARGIN, 1)
        return NO_TIME if self.budget.left_for_reruns < needed else ""

    def _failed(self, number: int, execution: CheckExecution) -> Collection[str]:
        """Return the tests to run again, since they may be flaky."""
        pair = self._pairs[number]
        return compare(pair.before, pair.after, execution, self._suites[number]).failed

    def _begin(self, number: int, limit: float) -> CancelToken:
        token = CancelToken()
        text = f"check with the tests as they were: {self._command(number)}"
        self.waits.begin(text, limit, lambda: token.fire(SKIPPED))
        return token

"""The round with a change: the checks, related tests in place of those that take too long, and reruns; then the tests
as they were, if the change touches tests.

`bot/evidence/reruns.py` decides what runs again, `bot/evidence/base_tests.py` compares with the tests as they were.
Each rerun has a fresh tree.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from bot.checkout.git import GitError
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckResult, CheckState, TestsAsTheyWere
from bot.ecosystems.suite_files import suite_of
from bot.evidence import no_evidence, reruns
from bot.evidence.base_tests import (
    NO_TIME,
    ChangedSuite,
    changed_suite,
    compare,
    confirmed_tests,
    suite_of_check,
)
from bot.evidence.check import Check
from bot.evidence.labels import check_title
from bot.evidence.reruns import CheckExecution
from bot.evidence.summary import may_run_tests
from bot.session.checks.before_round import MARGIN, BeforeRound, Round
from bot.session.checks.inspection import display_name
from bot.session.checks.runner import NO_TIME_LEFT, UNNEEDED, CheckRunner, not_run, related_commands
from bot.session.context.git_trees import GitTrees
from bot.workspace.client import Workspace

_NO_RELATED_TESTS = "no tests related to the change are known, and the whole suite was not run: {}"
_NEW_TESTS = "the tests related to the change are not there before it"

_RAN = (CheckState.PASSED, CheckState.FAILED)
_INSIDE = "the change edits tests in source files"

BaseRuns = dict[tuple[int, str], CheckExecution]
"""Results on the base by check number and command, shared by the rounds of a run."""


@dataclass(slots=True)
class CheckPair:
    """A check before and after the change. `check` has the command that ran after it. `narrowed` is the reason why only
    related tests ran, `base_command` the command for those of the base. `second` is a rerun of the whole check with the
    change, `note` the reason why a due one is missing. If the change touches tests, `as_they_were` is the result with
    the base's tests, and only tests in `confirmed` are fixed."""

    check: Check
    before: CheckExecution
    after: CheckExecution
    narrowed: str = ""
    base_command: str = ""
    second: CheckExecution | None = None
    note: str = ""
    as_they_were: TestsAsTheyWere | None = None
    confirmed: Collection[str] | None = None

    def result(self, check: Check) -> CheckResult:
        """Return the result of `check`, which has the command of the policy."""
        runs = (self.before, self.after, self.second)
        result = reruns.check_result(self.check, *runs, self.note, self.confirmed)
        related = self.check.command if self.check.command != check.command else ""
        result = result._replace(command=check.command, related=related, scope_note=self.narrowed)
        return result._replace(as_they_were=self.as_they_were)


class AfterRound(Round):
    """The round on one tree. `number` is its number in the run."""

    def __init__(self, before: BeforeRound, base_runs: BaseRuns, number: int, tree_sha: str) -> None:
        super().__init__(before.run, before.trees, before.checks, before.inspection, before.budget)
        self._history = GitTrees(before.run.checkout)
        self._before = before
        self._base_runs = base_runs
        self._number = number
        self._tree = tree_sha
        self._pairs: list[CheckPair] = []
        self._sources: tuple[str, ...] = ()

    def execute(self) -> list[CheckPair]:
        self._before.wait_for_checks()
        try:
            changed, _ = self._history.changes(self._tree)
            self._sources = no_evidence.sources(changed, set(self._history.paths(self._tree)))
            if self.checks:
                with self.trees.for_checks(
                    f"checks-after-{self._number}", self.cancel, self._tree
                ) as workspace:
                    self._run_checks(workspace)
        except AgentError as error:
            after = not_run(str(error))
            self._pairs = [
                CheckPair(check, future.result(), after)
                for check, future in zip(self.checks, self._before.executions, strict=True)
            ]
        # What opened nothing of the change is no evidence, on both sides.
        for number, reason in self._without_evidence(()).items():
            pair = self._pairs[number]
            pair.before, pair.after = (no_evidence.excused(one, reason) for one in (pair.before, pair.after))
        for check, pair in zip(self.checks, self._pairs, strict=True):
            if pair.after.run.note != UNNEEDED:
                self._record("after", check._replace(command=pair.check.command), pair.after)
        self._rerun_failed()
        self._before.wait()
        self._complete_base()
        if self._has_checkers:
            limit = self.budget.limit_checkers(1)
            self.waits.begin("the checkers with the change", limit)
            self._run_checkers(f"checkers-after-{self._number}", self._tree, limit)
        self._run_as_before()
        return self._pairs

    def _without_evidence(self, rerun: Collection[tuple[int, CheckExecution]]) -> Mapping[int, str]:
        """Return the reasons by the number of the check; `rerun` are executions in place of the first ones."""
        executions = dict(enumerate(pair.after for pair in self._pairs)) | dict(rerun)
        ran = [(pair.check, executions[number]) for number, pair in enumerate(self._pairs)]
        return dict(no_evidence.reasons(ran, self._sources))

    def _run_checks(self, workspace: Workspace) -> None:
        """Run each check that fits into the time, then related tests for the others."""
        runner = self._runner(workspace, watch=self._sources)
        for number, check in enumerate(self.checks):
            self._pairs.append(self._run_check(runner, number, check))
        due = {number: pair.check.command for number, pair in enumerate(self._pairs) if pair.narrowed}
        if due and not self.cancel.fired:
            commands = related_commands(due, self._history, self._tree, workspace, self.cancel)
            self._run_related(workspace, commands)

    def _run_check(self, runner: CheckRunner, number: int, check: Check) -> CheckPair:
        before = self._before.executions[number].result()
        if check.fallback and before.run.note == UNNEEDED:
            return CheckPair(check, before, not_run(UNNEEDED))
        if narrowed := self._too_long(check, before):
            return CheckPair(check, before, not_run(_NO_RELATED_TESTS.format(narrowed)), narrowed)
        after = runner.run(
            check,
            f"check with the change: {check_title(check)}",
            lambda: self.budget.left,
            partial(reruns.newly_failed_after, before),
        )
        if runner.workspace.closed and after.run.state is CheckState.NOT_RUN:
            text = f"running again, since its tool host ended: {check_title(check)}"
            again = self._rerun(text, f"checks-after-{self._number}-{number + 1}", check)
            after = after if again.run.state is CheckState.NOT_RUN else again
        return CheckPair(check, before, after)

    def _too_long(self, check: Check, before: CheckExecution) -> str:
        """Return why the whole check does not run with the change, or an empty string."""
        run = before.run
        if run.state is CheckState.TIMED_OUT and run.duration >= check.timeout - 1:
            return f"it timed out before the change, after {run.duration:.0f} s"
        if run.state is CheckState.TIMED_OUT or run.duration * MARGIN > self.budget.left:
            return self.budget.over_budget
        return run.note if run.state is CheckState.NOT_RUN and run.note == NO_TIME_LEFT else ""

    def _run_related(self, workspace: Workspace, commands: Mapping[int, tuple[str, str]]) -> None:
        """Run related tests for the checks that take too long. `commands` are those on the base and with the change."""

        on_base = {
            number: self.checks[number]._replace(command=before)
            for number, (before, _) in commands.items()
            if before and (number, before) not in self._base_runs
        }
        executions = self._run_on_base(on_base) if on_base else {}
        runner = self._runner(workspace, watch=self._sources)
        for number, (before, after) in commands.items():
            pair = self._pairs[number]
            pair.check = pair.check._replace(command=after)
            pair.after = runner.run(pair.check, f"related tests with the change: {after}", self._half)
            pair.base_command = before
            known = executions.get(number) or self._base_runs.get((number, before))
            pair.before = known or not_run(_NEW_TESTS)

    def _half(self) -> float:
        return self.budget.left / 2

    def _run_on_base(self, checks: Mapping[int, Check]) -> dict[int, CheckExecution]:
        executions: dict[int, CheckExecution] = {}
        try:
            with self.trees.for_checks(f"checks-related-{self._number}", self.cancel) as workspace:
                runner = self._runner(workspace)
                for number, check in checks.items():
                    execution = runner.run(check, "related tests before the change", self._half)
                    executions[number] = self._base_runs[number, check.command] = execution
                    self._record("before", check, execution)
        except AgentError as error:
            return dict.fromkeys(checks, not_run(str(error))) | executions
        return executions

    def _complete_base(self) -> None:
        """Run checkers on the base that the change turns out to concern."""
        limit = min(self.budget.limit_checkers(2), self.budget.left_for_reruns)
        if self.inspection is None or limit <= 1 or self.cancel.fired:
            return
        if missing := self.inspection.missing_on_base(self._tree):
            names = ", ".join(dict.fromkeys(map(display_name, missing)))
            self.waits.begin(f"run on the base, since the change concerns their projects: {names}", limit)
            self._run_checkers("checkers-on-base", None, limit, missing)

    def _rerun_failed(self) -> None:
        """Run each check that got worse once more as a whole."""
        for number, pair in enumerate(self._pairs):
            if not reruns.needs_rerun(pair.before, pair.after) or self.cancel.fired:
                continue
            if self.budget.left_for_reruns < max(pair.after.run.duration, 1):
                pair.note = reruns.NO_TIME
                continue
            text = f"running again, since it may be flaky: {check_title(pair.check)}"
            second = self._rerun(text, f"checks-again-{self._number}-{number + 1}", pair.check)
            if second.run.state is CheckState.NOT_RUN:
                pair.note = f"it could not be run again: {second.run.note}"
            else:
                if reason := self._without_evidence([(number, second)]).get(number):
                    second = no_evidence.excused(second, reason)
                pair.second = second
                self._record("after", pair.check, second, again=True)

    def _rerun(self, text: str, name: str, check: Check) -> CheckExecution:
        """Run a check in a workspace of its own."""
        try:
            with self.trees.for_checks(name, self.cancel, self._tree) as workspace:
                runner = self._runner(workspace, watch=self._sources)
                return runner.run(check, text, lambda: self.budget.left_for_reruns)
        except AgentError as error:
            return not_run(str(error))

    def _run_as_before(self) -> None:
        """Run the checks that count tests on the changed source with the base's tests, if the change touches tests,
        within what is left of the time for checks."""
        history, numbers = self._history, self._numbers()
        try:
            paths, renamed = history.changes(self._tree)
            sources = [path for path in paths if suite_of(path)]
            texts = history.texts(sources), history.texts(sources, self._tree)
            changed = changed_suite(paths, set(renamed.values()), *texts, history.paths())
        except GitError as error:
            for number in numbers:
                self._conclude(number, not_run(str(error)), ChangedSuite())
            return
        pairs = {number: self._pairs[number] for number in numbers}
        suites = {number: suite_of_check(changed, one.before, one.after) for number, one in pairs.items()}
        suites = {number: suite for number, suite in suites.items() if suite.put_back or suite.inside}
        for number, execution in self._executions(suites).items():
            self._conclude(number, execution, suites[number])

    def _conclude(self, number: int, execution: CheckExecution, suite: ChangedSuite) -> None:
        pair = self._pairs[number]
        pair.as_they_were = compare(pair.before, pair.after, execution, suite)
        pair.confirmed = confirmed_tests(execution, pair.as_they_were)

    def _numbers(self) -> list[int]:
        """Return the checks that count tests; if there are none, those that may run some."""
        pairs = self._pairs
        ran = [number for number, pair in enumerate(pairs) if pair.after.run.state in _RAN]
        counting = [number for number in ran if pairs[number].before.suite or pairs[number].after.suite]
        return counting or [number for number in ran if may_run_tests(self.checks[number].command)]

    def _executions(self, suites: Mapping[int, ChangedSuite]) -> Mapping[int, CheckExecution]:
        put_back = next((suite.put_back for suite in suites.values()), ())
        if not put_back:
            return dict.fromkeys(suites, not_run(_INSIDE))
        executions = {number: not_run(why) for number in suites if (why := self._hindrance(number))}
        try:
            tree = self._history.with_base_files(self._tree, put_back)
            if tree == self._history.base_tree():
                return {number: self._pairs[number].before for number in suites}
            if len(executions) < len(suites):
                name = f"checks-as-they-were-{self._number}"
                with self.trees.for_checks(name, self.cancel, tree) as workspace:
                    runner = self._runner(workspace)
                    for number, suite in suites.items():
                        if number not in executions:
                            executions[number] = self._run_one(runner, number, suite)
        except AgentError as error:
            executions = dict.fromkeys(suites, not_run(str(error))) | executions
        for number, execution in executions.items():
            self._record("as_they_were", self.checks[number], execution)
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

    def _command(self, number: int) -> str:
        """Return the command with the base's tests; empty if a check was narrowed to tests that are new."""
        pair = self._pairs[number]
        return pair.base_command if pair.narrowed else pair.check.command

    def _hindrance(self, number: int) -> str:
        """Return why a check does not run; empty if it does."""
        if self.cancel.fired:
            return "the run was cancelled"
        if not self._command(number):
            return _NEW_TESTS
        needed = max(self._pairs[number].after.run.duration * MARGIN, 1)
        return NO_TIME if self.budget.left_for_reruns < needed else ""

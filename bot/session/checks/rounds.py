"""The rounds of checks: on the base while the agent works, and with the change when the model ends its turn. If the
change touches tests, one more has the tests as they were.

A check runs as a whole if it fits into the time for checks. If the base round shows that it does not, the tests related
to the change run instead, on both sides. `bot/evidence/reruns.py` decides what runs again, `bot/evidence/base_tests.py`
compares with the tests as they were. Each rerun has a fresh tree.
"""

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial

from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckResult, CheckState
from bot.contracts.plain_text import quoted
from bot.contracts.request import CHECK_MINUTES, Tier
from bot.ecosystems.test_files import suite_of
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
from bot.evidence.reruns import CheckExecution, CheckPair
from bot.evidence.summary import may_run_tests
from bot.policy.tiers_and_budget import MINUTES
from bot.session.checks.before_round import NO_CHANGE, BeforeRound, Round
from bot.session.checks.runner import NO_TIME_LEFT, UNNEEDED, CheckRunner, not_run
from bot.session.checks.time_budget import MARGIN
from bot.session.context.run import Run
from bot.session.workspaces.prepared_trees import Trees

_UNABLE = (CheckState.NOT_RUNNABLE, CheckState.NO_SOCKETS)

SLOW_SECONDS = 240.0
"""A vendor keeps a cached prefix for five minutes."""

_NO_RELATED_TESTS = "no tests related to the change are known, and the whole suite was not run: {}"
_NEW_TESTS = "the tests related to the change are not there before it"

_RAN = (CheckState.PASSED, CheckState.FAILED)
_INSIDE = "the change edits tests in source files"


class AfterRound(Round):
    """The round on one tree. `number` is its number in the run."""

    def __init__(self, before: BeforeRound, number: int, tree_sha: str) -> None:
        super().__init__(
            before.run, before.trees, before.checks, before.inspection, before.budget, before.run.cancel_run
        )
        self._before = before
        self._number = number
        self._tree = tree_sha
        self._pairs: list[CheckPair] = []
        self._changed: list[str] = []
        self._renamed: dict[str, str] = {}
        self._paths: set[str] = set()
        self._sources: tuple[str, ...] = ()

    def execute(self) -> list[CheckPair]:
        self._before.wait_for_checks()
        try:
            self._changed, self._renamed = self.run.checkout.changes(self._tree)
            self._paths = set(self.run.checkout.paths_at(self._tree))
            self._sources = no_evidence.sources(self._changed, self._paths)
            if self.checks:
                with self._runner(f"checks-after-{self._number}", self._tree, watch=self._sources) as runner:
                    self._run_checks(runner)
        except AgentError as error:
            executions = (future.result() for future in self._before.executions)
            after = not_run(str(error))
            self._pairs = [CheckPair(*each, after) for each in zip(self.checks, executions, strict=True)]
        # What opened nothing of the change is no evidence, on both sides.
        for number, reason in self._without_evidence().items():
            pair = self._pairs[number]
            pair.before, pair.after = (no_evidence.excused(one, reason) for one in (pair.before, pair.after))
        for pair in self._pairs:
            if pair.after.run.note != UNNEEDED:
                self._record("after", pair.ran, pair.after)
        self._rerun_failed()
        self._before.wait()
        if not self.cancel.fired and self.inspection.is_needed():
            limit = self.budget.limit_checkers(1)
            self.run.show_wait("the checkers with the change", limit)
            self._run_checkers(f"checkers-after-{self._number}", self._tree, limit)
        self._run_as_before()
        return self._pairs

    def _without_evidence(self) -> Mapping[int, str]:
        """Return the reasons by the number of the check, of its rerun if there was one."""
        ran = [(pair.ran, pair.second or pair.after) for pair in self._pairs]
        return dict(no_evidence.reasons(ran, self._sources))

    def _run_checks(self, runner: CheckRunner) -> None:
        """Run each check that fits into the time, then related tests for the others."""
        for number, check in enumerate(self.checks):
            self._pairs.append(self._run_check(runner, number, check))
        due = {number: pair.check.command for number, pair in enumerate(self._pairs) if pair.narrowed}
        if due and not self.cancel.fired:
            self._run_related(
                runner, runner.related_commands(due, self.run.checkout, self._changed, self._paths)
            )

    def _run_check(self, runner: CheckRunner, number: int, check: Check) -> CheckPair:
        before = self._before.executions[number].result()
        if check.fallback and before.run.note == UNNEEDED:
            return CheckPair(check, before, not_run(UNNEEDED))
        if narrowed := self._too_long(check, before):
            return CheckPair(check, before, not_run(_NO_RELATED_TESTS.format(narrowed)), narrowed=narrowed)
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

    def _run_related(self, runner: CheckRunner, commands: Mapping[int, tuple[str, str]]) -> None:
        """Run related tests for the checks that take too long. `commands` are those on the base and with the change."""
        on_base = {
            number: self.checks[number]._replace(command=before)
            for number, (before, _) in commands.items()
            if before and (number, before) not in self._before.related_runs
        }
        executions = self._run_on_base(on_base) if on_base else {}
        for number, related in commands.items():
            pair = self._pairs[number]
            pair.related = related
            pair.after = runner.run(pair.ran, f"related tests with the change: {related[1]}", self._half)
            known = executions.get(number) or self._before.related_runs.get((number, related[0]))
            pair.before = known or not_run(_NEW_TESTS)

    def _half(self) -> float:
        return self.budget.left / 2

    def _run_on_base(self, checks: Mapping[int, Check]) -> dict[int, CheckExecution]:
        executions: dict[int, CheckExecution] = {}
        try:
            with self._runner(f"checks-related-{self._number}") as runner:
                for number, check in checks.items():
                    execution = runner.run(check, "related tests before the change", self._half)
                    executions[number] = self._before.related_runs[number, check.command] = execution
                    self._record("before", check, execution)
        except AgentError as error:
            return dict.fromkeys(checks, not_run(str(error)))
        return executions

    def _rerun_failed(self) -> None:
        """Run each check that got worse once more as a whole."""
        for number, pair in enumerate(self._pairs):
            if not reruns.needs_rerun(pair.before, pair.after) or self.cancel.fired:
                continue
            if self.budget.left_for_reruns < max(pair.after.run.duration, 1):
                pair.note = reruns.NO_TIME
                continue
            text = f"running again, since it may be flaky: {check_title(pair.ran)}"
            second = self._rerun(text, f"checks-again-{self._number}-{number + 1}", pair.ran)
            if second.run.state is CheckState.NOT_RUN:
                pair.note = f"it could not be run again: {second.run.note}"
                continue
            pair.second = second
            if reason := self._without_evidence().get(number):
                pair.second = no_evidence.excused(second, reason)
            self._record("after", pair.ran, pair.second, again=True)

    def _rerun(self, text: str, name: str, check: Check) -> CheckExecution:
        """Run a check in a workspace of its own."""
        try:
            with self._runner(name, self._tree, watch=self._sources) as runner:
                return runner.run(check, text, lambda: self.budget.left_for_reruns)
        except AgentError as error:
            return not_run(str(error))

    def _run_as_before(self) -> None:
        """Run the checks that count tests on the changed source with the base's tests, if the change touches tests,
        within what is left of the time for checks."""
        checkout = self.run.checkout
        ran = [pair for pair in self._pairs if pair.after.run.state in _RAN]
        counting = [pair for pair in ran if pair.before.suite or pair.after.suite]
        pairs = counting or [pair for pair in ran if may_run_tests(pair.check.command)]
        sources = [path for path in self._changed if suite_of(path)]
        texts = checkout.texts(sources), checkout.texts(sources, self._tree)
        changed = changed_suite(self._changed, set(self._renamed.values()), *texts, checkout.paths)
        suites = [(pair, suite_of_check(changed, pair.before, pair.after)) for pair in pairs]
        suites = [(pair, suite) for pair, suite in suites if suite.put_back or suite.inside]
        executions = self._run_suites(suites, changed.put_back) if suites else []
        for (pair, suite), execution in zip(suites, executions, strict=True):
            pair.as_they_were = compare(pair.before, pair.after, execution, suite)
            pair.confirmed = confirmed_tests(execution, pair.as_they_were)

    def _run_suites(
        self, suites: Sequence[tuple[CheckPair, ChangedSuite]], put_back: Sequence[str]
    ) -> list[CheckExecution]:
        """Run the checks on the tree with the files `put_back` as on the base, if there is time for any."""
        if not put_back:
            return [not_run(_INSIDE) for _ in suites]
        reasons = [self._hindrance(pair) for pair, _ in suites]
        executions = list(map(not_run, reasons))
        try:
            tree = self.run.checkout.with_base_files(self._tree, put_back)
            if tree == self.run.checkout.base_tree():
                return [pair.before for pair, _ in suites]
            if not all(reasons):
                with self._runner(f"checks-as-they-were-{self._number}", tree) as runner:
                    executions = [self._run_suite(runner, *one) for one in suites]
        except AgentError as error:
            executions = [not_run(str(error)) for _ in suites]
        for (pair, _), execution in zip(suites, executions, strict=True):
            self._record("as_they_were", pair.check, execution)
        return executions

    def _run_suite(self, runner: CheckRunner, pair: CheckPair, suite: ChangedSuite) -> CheckExecution:
        """Run a check if there is still time: those before it may have taken longer than before."""
        if why := self._hindrance(pair):
            return not_run(why)
        command = _base_command(pair)
        return runner.run(
            pair.check._replace(command=command),
            f"check with the tests as they were: {command}",
            lambda: self.budget.left_for_reruns,
            lambda execution: compare(pair.before, pair.after, execution, suite).failed,
        )

    def _hindrance(self, pair: CheckPair) -> str:
        """Return why a check does not run; empty if it does."""
        if self.cancel.fired:
            return "the run was cancelled"
        if not _base_command(pair):
            return _NEW_TESTS
        needed = max(pair.after.run.duration * MARGIN, 1)
        return NO_TIME if self.budget.left_for_reruns < needed else ""


def _base_command(pair: CheckPair) -> str:
    """Return the command with the base's tests; empty if a check was narrowed to tests that are new."""
    return pair.related[0] if pair.narrowed else pair.check.command


def _minutes(run: Run) -> float:
    """The time for all rounds."""
    limit, wanted = run.policy.budget.check_minutes, run.request.options.get(CHECK_MINUTES)
    if not wanted:
        return MINUTES if limit is None else limit
    # In a thread the policy's own number is the most.
    most = math.inf if limit is None or run.tier is Tier.LOCAL else limit
    return min(float(wanted), most)


class Rounds(BeforeRound):
    """The round on the base, which starts once, in the background; and one round for each changed tree."""

    def __init__(self, run: Run, trees: Trees, checks: Sequence[Check]) -> None:
        super().__init__(run, trees, checks, _minutes(run))
        self._after: dict[str, list[CheckPair]] = {}
        self._told: set[Check] = set()

    def unable(self) -> tuple[str, ...]:
        """Return a sentence for the model about each check that turned out since the last call to be unable to run."""
        ended = (
            (check, one.result().run)
            for check, one in zip(self.checks, self.executions, strict=True)
            if one.done()
        )
        new = {check: run for check, run in ended if run.state in _UNABLE and check not in self._told}
        self._told.update(new)
        return tuple(
            f"{quoted(check.command, 300)} cannot run here, so it will not verify your change: "
            f"{quoted(run.note, 300)}"
            for check, run in new.items()
        )

    @property
    def are_slow(self) -> bool:
        """Whether the checks before the change took over four minutes so far."""
        ended = (one.result().run.duration for one in self.executions if one.done())
        return sum(ended) > SLOW_SECONDS

    def stop_reruns_after(self, minutes: float) -> None:
        """Start no rerun later than this from now on."""
        self.budget.reruns_until = time.monotonic() + minutes * 60

    def results(self, tree_sha: str | None, reason: str = NO_CHANGE) -> tuple[CheckResult, ...]:
        """Return the results of both rounds, the second on `tree_sha`. With `None` there is nothing to check, for this
        `reason`: the base round is cancelled. No process of the agent's may be alive."""
        reason = self.run.profile.unrun or reason
        if tree_sha is None or self.run.profile.unrun:
            self.stop(reason)
            none = not_run(reason)
            before = (future.result() if future.done() else none for future in self.executions)
            pairs = [CheckPair(*each, none) for each in zip(self.checks, before, strict=True)]
        elif not self.has_work:
            return ()
        else:
            self.start()
            if tree_sha not in self._after:
                round = AfterRound(self, len(self._after) + 1, tree_sha)
                self._after[tree_sha] = round.execute()
                self.run.view.on_enter(None)
            pairs = self._after[tree_sha]
        return tuple(pair.result() for pair in pairs if pair.before.run.note != UNNEEDED)

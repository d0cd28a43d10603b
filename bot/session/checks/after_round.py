"""The round with a change: the checks, related tests in place of those that take too long, and reruns; and the tests
related to each suggestion of a review.

`bot/evidence/reruns.py` decides what runs again. Each rerun has a fresh tree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bot.checkout.git import GitError
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckResult, CheckState, TestsAsTheyWere
from bot.contracts.review import Finding, Review, Tried
from bot.ecosystems.registry import ecosystem_of
from bot.ecosystems.test_command import plain_words
from bot.evidence import opened_sources, reruns
from bot.evidence.check import Check
from bot.evidence.check_command import related_command
from bot.evidence.labels import check_title
from bot.evidence.reruns import CheckExecution
from bot.review.suggestions import Suggestion, applied
from bot.session.checks.before_round import BeforeRound, Round
from bot.session.checks.inspection import display_name
from bot.session.checks.runner import NO_TIME_LEFT, UNNEEDED, CheckRunner, not_run
from bot.session.context.git_trees import GitTrees
from bot.workspace.client import Workspace

_NO_RELATED_TESTS = "no tests related to the change are known, and the whole suite was not run: {}"
_NEW_TESTS = "the tests related to the change are not there before it"

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
        result = reruns.check_result(
            self.check, self.before, self.after, self.second, self.note, self.confirmed
        )
        related = self.check.command if self.check.command != check.command else ""
        return result._replace(
            command=check.command, related=related, scope_note=self.narrowed, as_they_were=self.as_they_were
        )


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
            self._sources = opened_sources.sources(changed, set(self._history.paths(self._tree)))
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
            pair.before, pair.after = (
                opened_sources.excused(one, reason) for one in (pair.before, pair.after)
            )
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
        return self._pairs

    def _without_evidence(self, rerun: Collection[tuple[int, CheckExecution]]) -> Mapping[int, str]:
        """Return the reasons by the number of the check; `rerun` are executions in place of the first ones."""
        executions = dict(enumerate(pair.after for pair in self._pairs)) | dict(rerun)
        ran = [(pair.check, executions[number]) for number, pair in enumerate(self._pairs)]
        return dict(opened_sources.no_evidence(ran, self._sources))

    def _run_checks(self, workspace: Workspace) -> None:
        """Run each check that fits into the time, then related tests for the others."""
        runner = self._runner(workspace, watch=self._sources)
        for number, check in enumerate(self.checks):
            self._pairs.append(self._run_check(runner, number, check))
        due = {number: pair.check.command for number, pair in enumerate(self._pairs) if pair.narrowed}
        if due and not self.cancel.fired:
            self._run_related(
                workspace, related_commands(due, self._history, self._tree, workspace, self.cancel)
            )

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
        if run.state is CheckState.TIMED_OUT or not self.budget.fits(run.duration):
            return self.budget.over_budget
        return run.note if run.state is CheckState.NOT_RUN and run.note == NO_TIME_LEFT else ""

    def _run_related(self, workspace: Workspace, commands: Mapping[int, tuple[str, str]]) -> None:
        """Run related tests for the checks that take too long, on both sides. `commands` are those on the base and
        those with the change."""

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
            pair.before = (
                executions.get(number) or self._base_runs.get((number, before)) or not_run(_NEW_TESTS)
            )

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
            name = f"checks-again-{self._number}-{number + 1}"
            second = self._rerun(text, name, pair.check)
            if second.run.state is CheckState.NOT_RUN:
                pair.note = f"it could not be run again: {second.run.note}"
            else:
                if reason := self._without_evidence([(number, second)]).get(number):
                    second = opened_sources.excused(second, reason)
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


def related_commands(
    commands: Mapping[int, str], history: GitTrees, tree_sha: str, workspace: Workspace, cancel: CancelToken
) -> dict[int, tuple[str, str]]:
    """Return the commands for the related tests of each check, by its number: on the base, empty if there are none, and
    with the change. Of checks with the same one, the first has it. `workspace` has the tree of the change."""
    try:
        changed, paths, base_paths = history.changes(tree_sha)[0], history.paths(tree_sha), history.paths()
    except GitError:
        return {}
    related: dict[int, tuple[str, str]] = {}
    for number, command in commands.items():
        language = ecosystem_of(plain_words(command))
        tests = _related_tests(workspace, language, changed, cancel) if language else ()
        after = related_command(command, changed, tests, set(paths), history.read)
        if after and all(after != other for _, other in related.values()):
            before = related_command(command, changed, tests, set(base_paths), history.read)
            related[number] = (before, after)
    return related


def _related_tests(
    workspace: Workspace, kind: str, changed: Sequence[str], cancel: CancelToken
) -> tuple[str, ...]:
    """Ask the tool host for related tests. Only paths that git knows, or plain names of crates, get into a command."""
    query = {"kind": kind, "changed": [path for path in changed if path.isprintable()]}
    try:
        tests = workspace.call("related_tests", query, cancel).metadata.get("tests")
    except AgentError:
        return ()
    return tuple(path for path in tests if isinstance(path, str)) if isinstance(tests, list) else ()


class SuggestionTests(Round):
    """`tested` returns a review with what is known of its suggestions afterwards."""

    def tested(self, review: Review) -> Review:
        findings = [self._tested(number, one) for number, one in enumerate(review.findings, 1)]
        return review._replace(findings=tuple(findings))

    def _tested(self, number: int, finding: Finding) -> Finding:
        if not finding.tried or self.cancel.fired or self.budget.left_for_reruns <= 0:
            return finding
        try:
            passes = self._pass(number, finding)
        except (AgentError, GitError) as error:
            self.run.journal.write(lines.Note(f"The suggestion on {finding.path} was not tested: {error}"))
            return finding
        return finding._replace(tried=(*finding.tried, Tried.TESTS)) if passes else finding

    def _pass(self, number: int, finding: Finding) -> bool:
        """Whether related tests are known, have run, and pass with the suggestion."""
        history, tree = GitTrees(self.run.checkout), self._tree_with(finding)
        if not tree:
            return False
        with self.trees.for_checks(f"suggestion-{number}", self.cancel, tree) as workspace:
            due = {check: one.command for check, one in enumerate(self.checks)}
            commands = related_commands(due, history, tree, workspace, self.cancel)
            runner, text = self._runner(workspace), "tests related to a suggestion"
            executions = [
                runner.run(
                    self.checks[check]._replace(command=command), text, lambda: self.budget.left_for_reruns
                )
                for check, (_, command) in commands.items()
            ]
        states = ", ".join(execution.run.state for execution in executions) or "none are known"
        self.run.journal.write(lines.Note(f"Tests related to the suggestion on {finding.path}: {states}"))
        passed = all(execution.run.state is CheckState.PASSED for execution in executions)
        return passed and any(one.counts_tests for one in executions)

    def _tree_with(self, finding: Finding) -> str:
        """Return the head's tree with the suggestion; empty if the file is no text that a suggestion fits."""
        history = GitTrees(self.run.checkout)
        text = history.texts([finding.path]).get(finding.path, "")
        if finding.suggestion is None or "\r" in text or "\ufffd" in text:
            return ""
        suggestion = Suggestion(finding.path, *finding.lines, finding.text, finding.suggestion)
        return history.with_text(finding.path, applied(text, [suggestion]))

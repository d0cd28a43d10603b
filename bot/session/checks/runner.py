"""Run checks in one workspace, and read the reports that they write."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckRun, CheckState
from bot.contracts.tools import ToolOutcome
from bot.ecosystems.test_command import CheckCommand
from bot.environment.scripts import reports_of
from bot.evidence.check import (
    MISSING,
    Check,
    classify_run,
    denied_path,
    denied_path_note,
    hidden_install_note,
    relative_paths,
)
from bot.evidence.check_command import report_command, rerun_command
from bot.evidence.missing_environments import left_out_note
from bot.evidence.reruns import CheckExecution
from bot.evidence.tests import SuiteResult
from bot.session.checks.host_reports import InvalidReport, parse_opened, parse_stamps, parse_suite
from bot.session.workspaces.start import LIMIT_NAMES
from bot.session.workspaces.trees import command_arguments
from bot.workspace.client import Workspace

NO_TIME_LEFT = "the time for checks is spent"
SKIPPED = "skipped by you"
UNNEEDED = "the tests of another check ran"
"""Why a fallback does not run."""
_CANCELLED = "the run was cancelled during this check"
_HIGHEST_EXIT_CODE = 255
_LONGEST_PATH = 300
_REPORT = ".slash-agent-tests-{}.xml"
_NUMBERS = itertools.count()  # a report of another check in the same workspace is none of this one
_WROTE_REPORT = re.compile(r"^-+ generated xml file: .*\.slash-agent-tests-\d+\.xml -+\n?", re.MULTILINE)


def not_run(why: str) -> CheckExecution:
    return CheckExecution(CheckRun(CheckState.NOT_RUN, note=why))


@dataclass(slots=True)
class CheckRunner:
    """Runs checks in one workspace. If the tool host cannot read a check's reports, the exit code stands alone.

    `origin` is the repository's own path if the sandbox cannot show the tree there: packages that are installed by that
    path are not the changed code. `limit` returns the seconds for a check, by its number, beside its own limit; `timed`
    is entered while a command runs. `begin` is called before each command with the check's number and the limit, and
    returns the token that cancels it alone. `on_output` receives the last line of the output while it runs.
    `rerun_tests` returns the tests of a check that run a second time. With `quiet` it gives way to the agent's
    commands. Which files of `watch` it opens is noted.
    """

    workspace: Workspace
    cancel: CancelToken
    origin: str = ""
    _: KW_ONLY
    limit: Callable[[int], float] = lambda number: math.inf
    timed: Callable[[], AbstractContextManager[None]] = nullcontext
    begin: Callable[[int, float], CancelToken] = lambda number, limit: CancelToken()
    on_output: Callable[[str], None] | None = None
    rerun_tests: Callable[[int, CheckExecution], Collection[str]] = lambda number, execution: ()
    quiet: bool = False
    watch: tuple[str, ...] = ()

    def run(self, number: int, check: Check) -> CheckExecution:
        """Run a check. One that ends the workspace has no result, nor have those after it."""
        try:
            return self._run(number, check)
        except AgentError as error:
            return not_run(str(error))

    def _run(self, number: int, check: Check) -> CheckExecution:
        if self.cancel.fired:
            return not_run("the run was cancelled before this check")
        if note := left_out_note(self.workspace.dependencies.left_out, check.command):
            return CheckExecution(CheckRun(CheckState.NOT_RUNNABLE, note=note))
        places = reports_of(check.command)
        reports = {"junit": list(check.junit), "places": places}
        stamps = self._query_reports({**reports, "watch": list(self.watch)}).get("stamps", {})
        command = report_command(check.command, _REPORT.format(next(_NUMBERS)))
        if command.own_report and not check.junit:
            reports["junit"] = [command.own_report]
        run, outcome = self._run_command(number, check, command.command)
        if run.state is CheckState.NOT_RUN or outcome is None:
            return CheckExecution(run)
        execution = self._read_reports(CheckExecution(run), {**reports, "stamps": stamps}, command, outcome)
        return self._rerun_tests(number, check, execution, reports)

    def _run_command(self, number: int, check: Check, command: str) -> tuple[CheckRun, ToolOutcome | None]:
        limit = min(check.timeout, self.limit(number))
        if limit < 1:
            return CheckRun(CheckState.NOT_RUN, note=NO_TIME_LEFT), None
        token = self.begin(number, limit)
        forget = self.cancel.on_fire(lambda: token.fire(_CANCELLED))
        arguments = command_arguments(command, limit, quiet=self.quiet)
        began = time.monotonic()
        try:
            with self.timed():
                outcome = self.workspace.call("bash", arguments, token, printed=self.on_output)
        finally:
            forget()
        if token.fired:
            return CheckRun(CheckState.NOT_RUN, note=token.reason), None
        # Duration and exit code are not taken on trust: the check ran code of the agent's beside the tool host.
        duration = round(time.monotonic() - began, 4)
        timed_out = outcome.metadata.get("timed_out") is True
        limit_name = LIMIT_NAMES.get(str(outcome.metadata.get("limit")), "")
        output = relative_paths(_WROTE_REPORT.sub("", outcome.content), self.workspace.root)
        run = classify_run(
            _exit_code(outcome.metadata), output, duration, timed_out=timed_out, limit=limit_name
        )
        return self._excuse_hidden_origin(run, output) if self.origin and not limit_name else run, outcome

    def _excuse_hidden_origin(self, run: CheckRun, output: str) -> CheckRun:
        """Mark `run` as not runnable if it failed because the sandbox does not show the repository's own folder."""
        if run.state not in (CheckState.FAILED, CheckState.NOT_RUNNABLE):
            return run
        # An error about a link names the link, in a folder of packages, and not its target.
        packages = (one.path for one in self.workspace.dependencies.folders if one.path)
        if path := next(filter(None, (denied_path(output, one) for one in (self.origin, *packages))), ""):
            return run._replace(state=CheckState.NOT_RUNNABLE, note=denied_path_note(path[:_LONGEST_PATH]))
        if "No module named" in run.note:
            return run._replace(note=f"{run.note}. {hidden_install_note(self.origin)}")
        return run

    def _read_reports(
        self,
        execution: CheckExecution,
        reports: Mapping[str, Any],
        command: CheckCommand,
        outcome: ToolOutcome,
    ) -> CheckExecution:
        """Add the tests to `execution`. `reports` has the stamps of report files before the run."""
        spill = outcome.metadata.get("spill")
        if not isinstance(spill, str):
            return execution
        query = {**reports, "spill": spill, "asked": command.report, "sure": command.complete}
        answer = self._query_reports(query)
        try:
            suite = parse_suite(answer.get("tests"))
        except InvalidReport as error:
            suite = SuiteResult("", whole=False, note=f"the tests are not believed: {error}")
        opened = parse_opened(answer.get("opened"), self.watch)
        return _judged_by_tests(replace(execution, suite=suite, opened=opened))

    def _rerun_tests(
        self, number: int, check: Check, execution: CheckExecution, reports: Mapping[str, Any]
    ) -> CheckExecution:
        """Run the tests that `rerun_tests` returns a second time, if the runner can select them."""
        names = self.rerun_tests(number, execution) if execution.suite and not check.junit else ()
        command = rerun_command(check.command, names, _REPORT.format(next(_NUMBERS)))
        if command is None:
            return execution
        stamps = self._query_reports(reports).get("stamps", {})
        run, outcome = self._run_command(number, check, command.command)
        if run.state is CheckState.NOT_RUN or outcome is None:
            return execution
        second = self._read_reports(CheckExecution(run), {**reports, "stamps": stamps}, command, outcome)
        return replace(execution, rerun_suite=second.suite)

    def _query_reports(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the tool host's answer about reports; empty on an error, which the next command reports."""
        try:
            answer = self.workspace.call("check_reports", query, self.cancel).metadata
            return {**answer, "stamps": parse_stamps(answer.get("stamps", {}))}
        except (AgentError, InvalidReport):
            return {}


def _judged_by_tests(execution: CheckExecution) -> CheckExecution:
    """Return a run whose tests passed in part as failed, if for others a network or a dependency was missing."""
    run = execution.run
    lacks = run.state is CheckState.NO_SOCKETS or run.note.startswith(MISSING)
    if lacks and execution.counts and execution.counts.passed:
        return replace(execution, run=run._replace(state=CheckState.FAILED))
    return execution


def _exit_code(metadata: Mapping[str, Any]) -> int | None:
    code = metadata.get("exit_code")
    return code if type(code) is int and -_HIGHEST_EXIT_CODE <= code <= _HIGHEST_EXIT_CODE else None

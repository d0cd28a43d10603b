"""Run checks in one workspace, and read the reports that they write."""

import itertools
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any

from bot.checkout.clone import Checkout
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckRun, CheckState
from bot.contracts.tools import ToolOutcome
from bot.ecosystems.registry import ecosystem_of, named
from bot.ecosystems.test_command import CheckCommand, plain_words
from bot.environment.scripts import statements
from bot.evidence.check import (
    MISSING,
    Check,
    classify_run,
    denied_path,
    denied_path_note,
    related_command,
    relative_paths,
    report_command,
    rerun_command,
)
from bot.evidence.no_evidence import left_out_note
from bot.evidence.reruns import CheckExecution
from bot.evidence.tests import SuiteResult
from bot.session.checks.host_reports import InvalidReport, parse_suite
from bot.session.workspaces.start_workspaces import command_arguments
from bot.session.workspaces.usage_notes import LIMIT_NAMES
from bot.workspace.client import Workspace

NO_TIME_LEFT = "the time for checks is spent"
SKIPPED = "skipped by you"
UNNEEDED = "the tests of another check ran"
"""Why a fallback does not run."""
EXIT_CODE_LOST = "tests fail, although its exit code is 0"
_CANCELLED = "the run was cancelled during this check"
_HIGHEST_EXIT_CODE = 255
_LONGEST_PATH = 300
_REPORT = ".slash-agent-tests-{}.xml"
_NUMBERS = itertools.count()  # a report of another check in the same workspace is none of this one
_WROTE_REPORT = re.compile(r"^-+ generated xml file: .*\.slash-agent-tests-\d+\.xml -+\n?", re.MULTILINE)


def not_run(why: str) -> CheckExecution:
    return CheckExecution(CheckRun(CheckState.NOT_RUN, note=why))


@dataclass
class CheckRunner:
    """Runs checks in one workspace. If the tool host cannot read a check's reports, the exit code stands alone.

    `origin` is the repository's own path if the sandbox cannot show the tree there: packages that are installed by that
    path are not the changed code. `begin` receives the text for people and the limit in seconds of each command; its
    context is entered while that runs, and has the token that cancels it alone. `on_output` receives the last line of
    the output while it runs. With `quiet` it gives way to the agent's commands. Which files of `watch` it opens is
    noted.
    """

    workspace: Workspace
    cancel: CancelToken
    origin: str = ""
    _: KW_ONLY
    begin: Callable[[str, float], AbstractContextManager[CancelToken]] = lambda text, limit: nullcontext(
        CancelToken()
    )
    on_output: Callable[[str], None] | None = None
    quiet: bool = False
    watch: tuple[str, ...] = ()

    def run(
        self,
        check: Check,
        text: str = "",
        limit: Callable[[], float] = lambda: math.inf,
        rerun_tests: Callable[[CheckExecution], Collection[str]] = lambda execution: (),
    ) -> CheckExecution:
        """Run a check. `limit` returns the seconds for a command beside the check's own; the tests that `rerun_tests`
        returns run a second time. A check that ends the workspace has no result, nor have those after it."""
        if self.cancel.fired:
            return not_run("the run was cancelled before this check")
        if note := left_out_note(self.workspace.dependencies.left_out, check.command):
            return CheckExecution(CheckRun(CheckState.NOT_RUNNABLE, note=note))
        command = report_command(check.command, _REPORT.format(next(_NUMBERS)))
        # The reports that tools write by themselves.
        tools = {part.ecosystem for part in statements(check.command) if part.ecosystem}
        places = [one for name in sorted(tools) for one in named(name).reports]
        reports = {"junit": list(check.junit), "places": places}

        def execute(command: CheckCommand, watch: Collection[str] = ()) -> CheckExecution:
            stamps = self._query_reports({**reports, "watch": list(watch)}).get("stamps", {})
            run, outcome = self._run_command(command.command, text, min(check.timeout, limit()))
            if run.state is CheckState.NOT_RUN or outcome is None:
                return CheckExecution(run)
            return self._read_reports(run, {**reports, "stamps": stamps}, command, outcome)

        try:
            execution = execute(command, self.watch)
            names = rerun_tests(execution) if execution.suite and not check.junit else ()
            # The runner may not be able to select them.
            if again := rerun_command(check.command, names, _REPORT.format(next(_NUMBERS))):
                execution = execution._replace(rerun_suite=execute(again).suite)
        except AgentError as error:
            return not_run(str(error))
        return execution

    def _run_command(self, command: str, text: str, limit: float) -> tuple[CheckRun, ToolOutcome | None]:
        if limit < 1:
            return CheckRun(CheckState.NOT_RUN, note=NO_TIME_LEFT), None
        began = time.monotonic()
        with self.begin(text, limit) as token:
            forget = self.cancel.on_fire(lambda: token.fire(_CANCELLED))
            try:
                arguments = command_arguments(command, limit, quiet=self.quiet)
                outcome = self.workspace.call("bash", arguments, token, printed=self.on_output)
            finally:
                forget()
        if token.fired:
            return CheckRun(CheckState.NOT_RUN, note=token.reason), None
        # Duration and exit code are not taken on trust: the check ran code of the agent's beside the tool host.
        duration = round(time.monotonic() - began, 4)
        code, timed_out = outcome.metadata.get("exit_code"), outcome.metadata.get("timed_out") is True
        code = code if type(code) is int and abs(code) <= _HIGHEST_EXIT_CODE else None
        limit_name = LIMIT_NAMES.get(str(outcome.metadata.get("limit")), "")
        output = relative_paths(_WROTE_REPORT.sub("", outcome.content), self.workspace.root)
        run = classify_run(code, output, duration, timed_out=timed_out, limit=limit_name)
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
            hint = f"If it is installed as a link to {self.origin}, this sandbox cannot show it there"
            return run._replace(note=f"{run.note}. {hint}: install a copy, or use bubblewrap")
        return run

    def _read_reports(
        self, run: CheckRun, reports: Mapping[str, Any], command: CheckCommand, outcome: ToolOutcome
    ) -> CheckExecution:
        """Return `run` with its tests. `reports` has the stamps of report files before the run."""
        spill = outcome.metadata.get("spill")
        if not isinstance(spill, str):
            return CheckExecution(run)
        query = {**reports, "spill": spill, "asked": command.report, "sure": command.complete}
        answer: Mapping[str, Any] = {}
        try:
            answer = self._query_reports(query)
            suite = parse_suite(answer.get("tests"))
        except AgentError as error:
            suite = SuiteResult("", whole=False, note=f"its tests could not be read: {error}")
        lacks = run.state is CheckState.NO_SOCKETS or run.note.startswith(MISSING)
        if lacks and suite and suite.counts and suite.counts.passed:
            # Only for some tests a network or a dependency was missing.
            run = run._replace(state=CheckState.FAILED)
        failed = suite and (suite.counts.failed if suite.counts else suite.failed)
        if failed and run.state is CheckState.PASSED:  # as after `pytest | tee log`
            run = run._replace(state=CheckState.FAILED, note=EXIT_CODE_LOST)
        opened = answer.get("opened")
        known = frozenset(self.watch).intersection(map(str, opened)) if isinstance(opened, list) else None
        return CheckExecution(run, suite, opened=known)

    def _query_reports(self, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the tool host's answer about reports. Raises `AgentError` if it has none."""
        outcome = self.workspace.call("check_reports", query, self.cancel)
        if outcome.is_error:
            raise InvalidReport(outcome.content)
        return outcome.metadata

    def related_commands(
        self, commands: Mapping[int, str], checkout: Checkout, changed: Sequence[str], paths: Collection[str]
    ) -> dict[int, tuple[str, str]]:
        """Return the commands for the tests related to `changed` of each check, by its number: on the base, empty if
        there are none, and with the change, whose tree the workspace has, with the files `paths`. Of checks with the
        same one, the first has it."""
        related: dict[int, tuple[str, str]] = {}
        for number, command in commands.items():
            language = ecosystem_of(plain_words(command))
            tests = self._related_tests(language, changed) if language else ()
            after = related_command(command, changed, tests, paths, checkout.read)
            if after and all(after != other for _, other in related.values()):
                before = related_command(command, changed, tests, set(checkout.paths), checkout.read)
                related[number] = (before, after)
        return related

    def _related_tests(self, kind: str, changed: Iterable[str]) -> tuple[str, ...]:
        """Ask the tool host. Only paths that git knows, or plain names of crates, get into a command."""
        query = {"kind": kind, "changed": list(filter(str.isprintable, changed))}
        try:
            tests = self.workspace.call("related_tests", query, self.cancel).metadata.get("tests")
        except AgentError:
            return ()
        return tuple(path for path in tests if isinstance(path, str)) if isinstance(tests, list) else ()

"""Run the checks of a repository, each time in a workshop and a tree of their own, and read what they left there."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckRun, CheckState
from bot.contracts.tools import ToolOutcome
from bot.evidence import asking, inside
from bot.evidence.coverage import Measured
from bot.evidence.detect import Check
from bot.evidence.judge import judge_run
from bot.evidence.moved import concerns, led_out, question, reason, refused, refuses
from bot.evidence.reruns import Ran
from bot.evidence.tests import Reading
from bot.run import limits_met
from bot.run.reading import Unbelievable, measured_of, reading_of, stamps_of
from bot.workshop.client.workshop import Workshop

NO_TIME_LEFT = "the time for checks is spent"
SKIPPED = "skipped by you"
_CANCELLED = "the run was cancelled during this check"
_HIGHEST = 255
_LOOK_LIMIT = 30
_READ_LIMIT = 120
_SHOWN = 300
_REPORT = ".slash-agent-tests-{}.xml"
_CONVERTED = ".slash-agent-coverage.json"
_WROTE_REPORT = re.compile(r"^-+ generated xml file: .*\.slash-agent-tests-\d+\.xml -+\n?", re.MULTILINE)
# coverage.py's database is read by itself alone; which one of these is the repository's is not known.
_CONVERT = f"""
for one in coverage .venv/bin/coverage venv/bin/coverage "python3 -m coverage"; do
  $one json -q -o "$TMPDIR/{_CONVERTED}" >/dev/null 2>&1
  if [ -s "$TMPDIR/{_CONVERTED}" ]; then exit 0; fi
done
exit 1"""

Lines = Mapping[str, frozenset[int]]
"""The changed lines by path."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a round is to find out beside how its checks end, and within what. `lines` gives the changed lines, when
    they are needed; `suspects` the tests of the check of that number that are to be run a second time. `limit` gives
    the seconds that a check may take, beside its own limit, and `timed` is entered while one runs. `begin` is told of
    each command and its limit, and makes the token that ends it alone; `printed` takes the last line of its output
    while it runs. `quiet` gives way to the agent's own commands."""

    lines: Callable[[], Lines] | None = None
    suspects: Callable[[int, Ran], Collection[str]] = lambda number, ran: ()
    limit: Callable[[int], float] = lambda number: math.inf
    timed: Callable[[], AbstractContextManager[None]] = nullcontext
    begin: Callable[[int, float], CancelToken] = lambda number, limit: CancelToken()
    printed: Callable[[str], None] | None = None
    quiet: bool = False


# In a subshell of its own, so that what comes after it has the usual priority; where there is no such program, or the
# sandbox lets none change its priority, nothing is changed.
_QUIETLY = "{ renice -n 10 -p $BASHPID; ionice -c 3 -p $BASHPID; } >/dev/null 2>&1\n"


def whole(command: str, seconds: float, *, quiet: bool = False) -> dict[str, str | int]:
    """Arguments that run a command of the repository by itself: a `cd` in it does not carry over to the next."""
    begun = _QUIETLY if quiet else ""
    return {"command": f"(\n{begun}{command}\n)", "timeout": max(round(seconds), 1)}


def run_checks(
    workshop: Workshop,
    checks: Sequence[Check],
    cancel: CancelToken,
    origin: str = "",
    wanted: Wanted = Wanted(),
) -> tuple[Ran, ...]:
    """Run each check in turn in `workshop`; one result a check, in order. A fired `cancel` leaves the rest not run.

    `origin` is the repository's own path where the tree cannot be shown there: what is installed by that path is other
    code than the change's.
    """
    bench = CheckBench(workshop, cancel, wanted, origin)
    return tuple(bench.run(number, check) for number, check in enumerate(checks))


def not_run(why: str) -> Ran:
    return Ran(CheckRun(CheckState.NOT_RUN, note=why))


@dataclass(slots=True)
class CheckBench:
    """Runs checks in one workshop. A host that cannot say what they left is asked no more: how they ended stands."""

    workshop: Workshop
    cancel: CancelToken
    wanted: Wanted
    origin: str
    _leads: str | None = None
    _runs: int = 0
    _lines: Lines = field(default_factory=dict)

    def run(self, number: int, check: Check, only: Collection[str] | None = None) -> Ran:
        """All of a check, or of its tests `only` these. A check that took its workshop with it has no result, and
        neither have those after it."""
        try:
            return self._run(number, check, only)
        except AgentError as error:
            return not_run(str(error))

    def _run(self, number: int, check: Check, only: Collection[str] | None) -> Ran:
        if self.cancel.fired:
            return not_run("the run was cancelled before this check")
        if self.origin and concerns(check.command) and (why := self._why_moved()):
            return Ran(CheckRun(CheckState.NOT_RUNNABLE, note=why))
        own = {"junit": list(check.junit), "coverage": list(check.coverage)}
        stamps = self._ask(own).get("stamps", {})
        report = _REPORT.format(self._runs)
        asked = asking.asked(check.command, report)
        if only is not None and (asked_only := asking.again(check.command, only, report, fresh=True)):
            asked = asked_only
        if asked.own and not check.junit:
            own["junit"] = [asked.own]
        run, outcome = self._command(number, check, asked.command)
        if asked.command != check.command and _was_refused(run, outcome, asked.report):
            asked = asking.Asked(check.command)
            run, outcome = self._command(number, check, asked.command)
        if run.state is CheckState.NOT_RUN or outcome is None:
            return Ran(run)
        ran = self._read(Ran(run), own, stamps, asked, outcome)
        return self._again(number, check, ran, own)

    def _command(self, number: int, check: Check, command: str) -> tuple[CheckRun, ToolOutcome | None]:
        limit = min(check.timeout, self.wanted.limit(number))
        if limit < 1:
            return CheckRun(CheckState.NOT_RUN, note=NO_TIME_LEFT), None
        self._runs += 1
        skip = self.wanted.begin(number, limit)
        forget = self.cancel.on_fire(lambda: skip.fire(_CANCELLED))
        began = time.monotonic()
        try:
            with self.wanted.timed():
                outcome = self.workshop.call(
                    "bash", whole(command, limit, quiet=self.wanted.quiet), skip, printed=self.wanted.printed
                )
        finally:
            forget()
        if skip.fired:
            return CheckRun(CheckState.NOT_RUN, note=skip.reason), None
        # Measured here, and no number of the host's that no process could have ended with: the check ran code that
        # the agent wrote, beside the host.
        duration = round(time.monotonic() - began, 4)
        timed_out = outcome.metadata.get("timed_out") is True
        met = limits_met.WORDS.get(str(outcome.metadata.get("limit")), "")
        printed = inside.relative(_WROTE_REPORT.sub("", outcome.content), self.workshop.root)
        run = judge_run(_exit_code(outcome.metadata), printed, duration, timed_out=timed_out, limit=met)
        return self._where_it_led(run, printed) if self.origin and not met else run, outcome

    def _where_it_led(self, run: CheckRun, printed: str) -> CheckRun:
        """`run`, and not as a failure where it ended at the repository's own folder, which is not to be seen here."""
        if run.state not in (CheckState.FAILED, CheckState.NOT_RUNNABLE):
            return run
        if path := refused(printed, self.origin):
            return replace(run, state=CheckState.NOT_RUNNABLE, note=led_out(path[:_SHOWN]))
        if "No module named" in run.note and (why := self._why_moved()):
            return replace(run, note=f"{run.note}. {why}")
        # Through a link the words name the link, and not what it leads to.
        if refuses(printed) and (why := self._why_moved()) and refused(printed, self._leads or ""):
            return replace(run, state=CheckState.NOT_RUNNABLE, note=why)
        return run

    def _why_moved(self) -> str:
        """Why what imports the repository's package says nothing here; empty where it does, or nobody can say."""
        if self._leads is None:
            asked = self.workshop.call("bash", whole(question(self.origin), _LOOK_LIMIT), self.cancel)
            found = (one for one in asked.content.splitlines() if one.startswith((".", "/", "venv", "env")))
            others = (one for one in found if one.rpartition("/")[2] not in self.workshop.redirected)
            self._leads = next(others, "")[:_SHOWN]
        return reason(self._leads, self.origin) if self._leads else ""

    def _read(
        self, ran: Ran, own: Mapping[str, Any], stamps: object, asked: asking.Asked, outcome: ToolOutcome
    ) -> Ran:
        spill = outcome.metadata.get("spill")
        if not isinstance(spill, str):
            return ran
        told = self._ask({**own, "stamps": stamps, "spill": spill, "asked": asked.report, "sure": asked.sure})
        try:
            ran = replace(ran, reading=reading_of(told.get("tests")))
        except Unbelievable as error:
            ran = replace(ran, reading=Reading("", whole=False, note=f"the tests are not believed: {error}"))
        if self.wanted.lines is None or told.get("measured") is not True:
            return ran
        return replace(ran, measured=self._measured(own, stamps))

    def _measured(self, own: Mapping[str, Any], stamps: object) -> Measured | None:
        """Coverage of the changed lines by what is new in the tree; by coverage.py's database where that is all."""
        assert self.wanted.lines is not None
        self._lines = self._lines or self.wanted.lines()
        if not self._lines:
            return None
        lines = {path: sorted(some) for path, some in self._lines.items()}
        question = {**own, "stamps": stamps, "lines": lines}
        try:
            measured = measured_of(self._ask(question).get("coverage"), self._lines)
            if not measured.database:
                return measured
            done = self.workshop.call("bash", whole(_CONVERT, _READ_LIMIT), self.cancel)
            if done.metadata.get("exit_code") != 0:
                return Measured(note=".coverage is there, and no coverage program that could read it")
            told = self._ask({**question, "converted": _CONVERTED}).get("coverage")
            return measured_of(told, self._lines)
        except (AgentError, Unbelievable) as error:
            return Measured(note=f"the coverage could not be read: {error}")

    def _again(self, number: int, check: Check, ran: Ran, own: Mapping[str, Any]) -> Ran:
        """The tests that are suspected once more, where the runner can be told to run them alone."""
        suspected = self.wanted.suspects(number, ran) if ran.reading and not check.junit else ()
        asked = asking.again(check.command, suspected, _REPORT.format(self._runs))
        if asked is None:
            return ran
        stamps = self._ask(own).get("stamps", {})
        run, outcome = self._command(number, check, asked.command)
        if run.state is CheckState.NOT_RUN or outcome is None:
            return ran
        second = self._read(Ran(run), own, stamps, asked, outcome)
        return replace(ran, again=second.reading)

    def _ask(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the host says of reports; nothing where it fails. The next command then says so."""
        try:
            told = self.workshop.call("check_reports", arguments, self.cancel).metadata
            return {**told, "stamps": stamps_of(told.get("stamps", {}))}
        except (AgentError, Unbelievable):
            return {}


def _was_refused(run: CheckRun, outcome: ToolOutcome | None, report: str) -> bool:
    """Whether it failed for what was added to it: a pytest whose reports are switched off takes no such option."""
    printed = outcome.content if outcome is not None and run.state is not CheckState.PASSED else ""
    return bool(report) and any(
        "unrecognized arguments" in line and report in line for line in printed.splitlines()
    )


def _exit_code(facts: Mapping[str, Any]) -> int | None:
    code = facts.get("exit_code")
    return code if type(code) is int and -_HIGHEST <= code <= _HIGHEST else None

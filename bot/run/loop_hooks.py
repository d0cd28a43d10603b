"""`LoopHooks`: what a run does between the loop's steps. `StopHook`: what it tells the model that says it is done."""

from __future__ import annotations

import importlib
import json
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from bot.agent.conversation_context import Hooks, TurnInfo
from bot.agent.finish import Stop
from bot.agent.masking import requests_left_notice
from bot.agent.prompt import new_marker
from bot.agent.todo import render_list
from bot.agent.usage import LimitReminder, LimitShare
from bot.checkout.clone import Checkout
from bot.checkout.objects import blobs_at
from bot.contracts.errors import GateError
from bot.contracts.evidence import Problem
from bot.contracts.model import Retrying
from bot.contracts.plain_text import printable_name, quoted_lines
from bot.evidence.failing_checks import failing, failing_checks_message
from bot.evidence.problems import new_errors, new_errors_message
from bot.gate.errors import OutOfCapacity, quoted_path
from bot.gate.verdict import Verdict
from bot.parsing.parser import ParseError, Parser
from bot.policy.running import StopHookPolicy
from bot.run.parts import Parts
from bot.session.context.profiles import FINAL
from bot.session.context.run import Run
from bot.session.tools.result_tools import ResultTools
from bot.session.tools.toolbox import CallTracker
from bot.verbs.record import SUBMIT_PLAN

_LOADS_REPORT = 2
"""The request after which the report is loaded: the first must not be slowed down."""


def _load_report() -> None:
    """Load what only the end of a run needs, while the model thinks. What fails here is reported at the end."""
    with suppress(ImportError, OSError):
        importlib.import_module("bot.run.result")


@dataclass(frozen=True, slots=True)
class LoopHooks:
    """Callbacks of a run's loop. `calls` receives the number of each request."""

    run: Run
    parts: Parts
    results: ResultTools
    calls: CallTracker
    stop_hook: StopHook
    _shares: list[LimitShare] = field(default_factory=list, init=False)
    _limit_reminder: LimitReminder = field(default_factory=LimitReminder, init=False)

    def hooks(self) -> Hooks:
        return Hooks(
            request_sent=self._request_sent,
            turn_done=self._turn_done,
            more_work=self._more_work,
            before_end=self._before_end,
            retrying=self._retrying,
            stop_after_call=self._wants_end,
            is_handover=self._hands_over,
            after_results=self._after_results,
            verbatim_texts=self._carried,
            has_result=self._has_result,
        )

    def _request_sent(self, turn: int) -> None:
        self.calls.turn = turn
        if turn == 1:
            self.parts.rounds.start_before()
        if turn == _LOADS_REPORT:
            # No daemon: a process that ends while a thread of it is in pydantic's native code is aborted.
            with suppress(RuntimeError):  # the machine has no thread left: then it is loaded at the end
                threading.Thread(target=_load_report, name="report").start()

    def _turn_done(self, info: TurnInfo) -> None:
        self._shares[:] = info.shares
        self.run.watch(info)

    def _more_work(self) -> str:
        review = self.parts.review
        return review.next_part(self._shares, new_marker()) if review else ""

    def _before_end(self) -> str | None:
        self.parts.skills.end_turn()
        return self.stop_hook.before_end()

    def _retrying(self, event: Retrying) -> None:
        self.run.say(f"{event.reason}; asking again in {event.delay:.0f} s")

    def _wants_end(self) -> Stop | None:
        return self.results.ask.stop()

    def _hands_over(self, info: TurnInfo) -> bool:
        """Whether the turn ends with the run's result and no other result needs the model. Before anything is changed,
        a description is no result."""
        if info.failed or not info.calls or info.calls[-1].name not in FINAL:
            return False
        return self.run.profile.read_only or self.stop_hook.changed()

    def _has_result(self) -> bool:
        """Whether the run's result is submitted: what may follow is a check to fix, not a new task."""
        return bool(self.results.describe.description.title) or self.results.submit.plan is not None

    def _after_results(self, info: TurnInfo) -> Sequence[str]:
        recalled = self.results.todo.reminder(info.calls)
        left = requests_left_notice(info.state, self.run.profile.results)
        used = self._limit_reminder.reminder(info.shares)
        texts = (text for text in (recalled, left, used) if text)
        return (*self.parts.skills.after_results(), *self.parts.rounds.unable(), *texts)

    def _carried(self) -> Sequence[str]:
        """The texts that a compacted conversation keeps verbatim."""
        todo = self.results.todo
        listed = (f"Your list:\n{render_list(todo.items)}",) if todo.items else ()
        return (*listed, *self.parts.skills.carried())


NO_PLAN = (
    "You said you are done, but no plan was submitted. Call `submit_plan`, or say in one sentence why there is no "
    "plan to make. This is said once."
)
OPEN_ITEMS = (
    "You said you are done, but your list has open items:\n{items}\nDo them, or say why they are not needed and "
    "update the list. This is said once."
)
WITHHELD = (
    "You said you are done, but no patch can hold these files, so they will not be part of your change:\n{rows}\n"
    "Remove what is left over (core dumps, build output, clones); what belongs to the change, make in another way. "
    "This is said once."
)
REFUSED = "You said you are done, but your change cannot be published: {why}. Undo what causes that. This is said once."
NEW_ERRORS = (
    "You said you are done, but your change leaves files that no longer parse, in the lines with |:\n{errors}\n"
    "Fix them, or say in one sentence why they are right. This is said once."
)
_MAX_ROWS = 20


@dataclass(slots=True)
class StopHook:
    """The message to a model that says it is done: a missing plan, open items of its list, files that the gate
    leaves out, new errors of checkers, failing checks. The loop asks at most twice a session; what
    the model did nothing about is not repeated. A check that the request names must pass."""

    run: Run
    parts: Parts
    results: ResultTools
    _reported: set[str] = field(default_factory=set, init=False)
    _reported_trees: set[str] = field(default_factory=set, init=False)
    _reported_problems: set[tuple[str, str, str]] = field(default_factory=set, init=False)

    @property
    def _policy(self) -> StopHookPolicy:
        return self.run.policy.agent.stop_hook

    def changed(self) -> bool:
        """Whether the work tree differs from the base, or the gate refuses it."""
        verdict = self.parts.gate.verdict()
        return isinstance(verdict, GateError) or bool(verdict.files or verdict.withheld)

    def before_end(self) -> str | None:
        """What is missing, in one message; `None` lets the session end."""
        return "\n\n".join(self._missing()) or None

    def _missing(self) -> Iterator[str]:
        if (
            SUBMIT_PLAN in self.run.profile.results
            and self.results.submit.plan is None
            and self._first_time("plan")
        ):
            yield NO_PLAN
        review = self.parts.review
        if review and (refused := review.missing()) and self._first_time("refused"):
            yield refused
        if self.run.profile.read_only:
            return
        described = bool(self.results.describe.description.title)
        if self._policy.todos and not described and self.results.todo.open and self._first_time("todos"):
            yield OPEN_ITEMS.format(items=render_list(self.results.todo.items))
        yield from self._refusals()
        if self._policy.diagnostics:
            yield from self._broken_files()
        if self._policy.checks or self._policy.diagnostics:
            yield from self._rounds_with_change()

    def _refusals(self) -> Iterator[str]:
        """Files that the gate refuses or cannot put in a patch. Files that the policy withholds were reported at
        each write."""
        verdict = self.parts.gate.verdict()
        if isinstance(verdict, GateError):
            if not isinstance(verdict, OutOfCapacity) and self._first_time("gate"):
                yield self.run.redact(REFUSED.format(why=verdict))
        elif verdict.unfit and self._first_time("gate"):
            rows = [f"- {quoted_path(row.path)}: {row.reason}" for row in verdict.unfit[:_MAX_ROWS]]
            if more := len(verdict.unfit) - len(rows):
                rows.append(f"- and {more} more")
            yield self.run.redact(WITHHELD.format(rows="\n".join(rows)))

    def _first_time(self, what: str) -> bool:
        new = what not in self._reported
        self._reported.add(what)
        return new

    def _broken_files(self) -> Iterator[str]:
        verdict = self.parts.gate.verdict()
        if isinstance(verdict, GateError) or not self._first_time(f"files of {verdict.tree_sha}"):
            return
        if verdict.files and (broken := broken_files(self.run.checkout, verdict)):
            yield self.run.redact(NEW_ERRORS.format(errors=quoted_lines("\n".join(broken[:_MAX_ROWS]))))

    def _rounds_with_change(self) -> Iterator[str]:
        """Failing checks and errors of checkers, once for each tree."""
        if not self.parts.rounds.has_work or self.run.profile.unrun:
            return
        verdict = self.parts.gate.verdict()
        if isinstance(verdict, GateError) or not verdict.files or verdict.tree_sha in self._reported_trees:
            return
        self._reported_trees.add(verdict.tree_sha)
        bad = failing(self.parts.rounds.results(verdict.tree_sha), self.run.for_model.instruction)
        if self.run.stop.fired:
            return
        if self._policy.diagnostics and (problems := self._new_problems(verdict.tree_sha)):
            yield self.run.redact(problems)
        if self._policy.checks and bad:
            yield self.run.redact(failing_checks_message(bad))

    def _new_problems(self, tree_sha: str) -> str:
        """New errors of checkers, each once."""
        new = [
            error
            for error in new_errors(self.parts.rounds.diagnostics(tree_sha))
            if _problem_key(error) not in self._reported_problems and self.parts.rounds.is_for_model(error)
        ]
        self._reported_problems.update(map(_problem_key, new))
        return new_errors_message(new) if new else ""


def _problem_key(problem: Problem) -> tuple[str, str, str]:
    return problem.path, f"{problem.tool} {problem.code}", problem.message


_FORMATS: Mapping[str, Callable[[str], object]] = {".json": json.loads, ".toml": tomllib.loads}


def broken_files(checkout: Checkout, verdict: Verdict) -> list[str]:
    """A line for each changed JSON or TOML file that parsed at the base and does not any more: checkers find such
    errors in code."""
    paths = [file.path for file in verdict.files if PurePosixPath(file.path).suffix.lower() in _FORMATS]
    after = blobs_at(checkout.git, verdict.tree_sha, paths)
    with Parser() as parser:

        def error_in(path: str, content: bytes) -> str:
            try:
                parser.parse(_FORMATS[PurePosixPath(path).suffix.lower()], content.decode("utf-8", "replace"))
            except ParseError as error:
                return str(error)
            return ""

        return [
            f"{printable_name(path)}: {error}"
            for path, before in blobs_at(checkout.git, checkout.base_sha, after).items()
            if (error := error_in(path, after[path])) and not error_in(path, before)
        ]

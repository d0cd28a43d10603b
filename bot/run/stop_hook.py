"""`loop_hooks`: what a run does between the loop's steps. `StopHook`: what it tells the model that says it is done."""

import importlib
import json
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from bot.agent.conversation_context import Hooks, TurnInfo
from bot.agent.prompt import new_marker
from bot.agent.todo_list import render_list
from bot.checkout.clone import Checkout
from bot.checkout.objects import blobs_at
from bot.contracts.errors import GateError
from bot.contracts.plain_text import printable_name, quoted, quoted_lines
from bot.evidence.failing_checks import failing, failing_checks_message
from bot.evidence.problems import new_errors, new_errors_message
from bot.gate.errors import OutOfCapacity
from bot.gate.judge import Verdict
from bot.parsing.parser import ParseError, Parser
from bot.run.parts import Parts
from bot.session.context.profiles import FINAL
from bot.session.context.run import Run
from bot.session.tools.conversation_hooks import conversation_hooks
from bot.session.workspaces.lock_files import write_lock_files
from bot.verbs.record import SUBMIT_PLAN

MAX_REMINDERS = 2
"""Messages of `StopHook` in a run."""
_LOADS_REPORT = 2
"""The request after which the report is loaded: the first must not be slowed down."""


def _load_report() -> None:
    """Load what only the end of a run needs, while the model thinks. What fails here is reported at the end."""
    with suppress(ImportError, OSError):
        importlib.import_module("bot.run.result")


def loop_hooks(run: Run, parts: Parts) -> Hooks:
    """The callbacks of a run's loop."""
    stop_hook, results = StopHook(run, parts), parts.results
    common = conversation_hooks(run, parts.subagents.calls, run.profile.results)

    def request_sent(turn: int) -> None:
        common.request_sent(turn)
        if turn == 1:
            parts.rounds.start()
        if turn == _LOADS_REPORT:
            # No daemon: a process that ends while a thread of it is in pydantic's native code is aborted.
            with suppress(RuntimeError):  # the machine has no thread left: then it is loaded at the end
                threading.Thread(target=_load_report, name="report").start()

    def after_results(info: TurnInfo) -> list[str]:
        skill = parts.skills.after_results()
        return [*parts.rounds.unable(), *skill, *common.after_results(info)]

    def verbatim_texts() -> list[str]:
        """The texts that a compacted conversation keeps."""
        todo, (text, names) = results.todo.items, parts.skills.carried()
        again = (
            f"Skills that were loaded: {', '.join(names)}. Load one again if you still need its instructions."
        )
        texts = (f"Your list:\n{render_list(todo)}" if todo else "", text, again if names else "")
        return list(filter(None, texts))

    def before_end() -> str | None:
        parts.skills.end_turn()
        return stop_hook.before_end()

    def is_handover(info: TurnInfo) -> bool:
        """Whether the turn ends with the run's result and no other result needs the model. Before anything is changed,
        a description is no result."""
        if info.failed or not info.calls or info.calls[-1].name not in FINAL:
            return False
        return run.profile.read_only or stop_hook.changed()

    def has_result() -> bool:
        """Whether the run's result is submitted: what may follow is a check to fix, not a new task."""
        return bool(results.describe.description.title) or results.submit.plan is not None

    return common._replace(
        request_sent=request_sent,
        more_work=lambda info: parts.review.next_part(info.shares, new_marker()) if parts.review else "",
        before_end=before_end,
        stop_after_call=results.ask.stop,
        is_handover=is_handover,
        after_results=after_results,
        verbatim_texts=verbatim_texts,
        has_result=has_result,
    )


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


@dataclass
class StopHook:
    """The message to a model that says it is done: a missing plan, open items of its list, files that the gate
    leaves out, new errors of checkers, failing checks. At most `MAX_REMINDERS` times; what
    the model did nothing about is not repeated. A check that the request names must pass."""

    run: Run
    parts: Parts
    _reported: set[object] = field(default_factory=set, init=False)
    _reminders: int = field(default=0, init=False)

    def changed(self) -> bool:
        """Whether the work tree differs from the base, or the gate refuses it."""
        verdict = self.parts.workspace.close_and_judge()
        return isinstance(verdict, GateError) or bool(verdict.files or verdict.withheld)

    def before_end(self) -> str | None:
        """What is missing, in one message; `None` lets the session end."""
        if self._reminders >= MAX_REMINDERS:
            return None
        text = self.run.redact("\n\n".join(self._missing()))
        self._reminders += bool(text)
        return text or None

    def _missing(self) -> Iterator[str]:
        results, review = self.parts.results, self.parts.review
        plans = SUBMIT_PLAN in self.run.profile.results
        if plans and results.submit.plan is None and self._first_time("plan"):
            yield NO_PLAN
        if review and (refused := review.missing()) and self._first_time("refused"):
            yield refused
        if self.run.profile.read_only:
            return
        described = bool(results.describe.description.title)
        if not described and results.todo.open and self._first_time("todos"):
            yield OPEN_ITEMS.format(items=render_list(results.todo.items))
        write_lock_files(self.run, self.parts.workspace)
        # Files that the policy withholds were reported at each write.
        verdict = self.parts.workspace.close_and_judge()
        if isinstance(verdict, GateError):
            if not isinstance(verdict, OutOfCapacity) and self._first_time("gate"):
                yield REFUSED.format(why=verdict)
            return
        if verdict.unfit and self._first_time("gate"):
            rows = [f"- {quoted(row.path)}: {row.reason}" for row in verdict.unfit[:_MAX_ROWS]]
            if more := len(verdict.unfit) - len(rows):
                rows.append(f"- and {more} more")
            yield WITHHELD.format(rows="\n".join(rows))
        if not verdict.files:
            return
        if verdict.weaker and self.run.request.keeps_tests and self._first_time("weaker"):
            yield REFUSED.format(why=verdict.weaker[0])
        looks = self._first_time(("files", verdict.tree_sha))
        if looks and (broken := broken_files(self.run.checkout, verdict)):
            yield NEW_ERRORS.format(errors=quoted_lines("\n".join(broken[:_MAX_ROWS])))
        yield from self._rounds_with_change(verdict.tree_sha)

    def _first_time(self, what: object) -> bool:
        new = what not in self._reported
        self._reported.add(what)
        return new

    def _rounds_with_change(self, tree_sha: str) -> Iterator[str]:
        """Failing checks, once for each tree, and errors of checkers, each once."""
        rounds = self.parts.rounds
        if not rounds.has_work or not self._first_time(tree_sha):
            return
        bad = failing(rounds.results(tree_sha), self.run.for_model.instruction)
        if self.run.cancel_run.fired:
            return
        new = [
            one
            for one in new_errors(rounds.inspection.results(tree_sha))
            if rounds.inspection.is_for_model(one)
            and self._first_time((one.path, one.tool, one.code, one.message))
        ]
        if new:
            yield new_errors_message(new)
        if bad:
            yield failing_checks_message(bad)


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

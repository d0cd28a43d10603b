"""Progress of a run for people: the journal's lines as they are written, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.agent.journal import Journal
from bot.contracts.journal import Note, Record, Response, Result
from bot.contracts.messages import ToolCall
from bot.contracts.progress import OutputEvent, View, WaitEvent, Written

if TYPE_CHECKING:
    from bot.session.context.run import Run


class ProgressReporter:
    """Passes on to `view` what is written to `journal`, from any thread, each record with its call."""

    def __init__(self, view: View, journal: Journal) -> None:
        self._view: View | None = view
        self._journal = journal
        self._calls: dict[tuple[str, str], ToolCall] = {}

    def __call__(self, record: Record, agent: str, line: bytes) -> None:
        if isinstance(record, Response):
            calls = (part for part in record.parts if isinstance(part, ToolCall))
            self._calls |= {(agent, call.id): call for call in calls}
        key = (agent, getattr(record, "call_id", ""))
        call = self._calls.pop(key, None) if isinstance(record, Result) else self._calls.get(key)
        if self._view is None:
            return
        try:
            self._view.tell(Written(record, line, agent, call))
        except Exception as error:  # noqa: BLE001  a terminal or a bug of ours: that ends no run
            self._view = None
            failure = f"What goes on is not shown any more: {type(error).__name__}: {error}"
            self._journal.write(Note(failure))


class Waits:
    """Shows people what `run` waits for: its name, its time limit, and the last line of its output. At a terminal Enter
    skips it; in a log there is one line when the wait begins. After the run was stopped no further wait is shown."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def begin(self, text: str, limit: float | None = None, skip: Callable[[], None] | None = None) -> None:
        """`limit` is in seconds; `skip` is called if a person skips the wait."""
        view = self._run.view
        if self._run.stop.fired:
            return
        view.on_enter(skip)
        seconds = max(round(limit, 1), 1.0) if limit is not None else None
        can_skip = skip is not None and view.person is not None
        view.tell(WaitEvent(self._run.redactor.masked(text), seconds, can_skip))

    def printed(self, line: str) -> None:
        if line:
            self._run.view.tell(OutputEvent(self._run.redactor.masked(line)))

    def end(self) -> None:
        """End the wait."""
        self._run.view.on_enter(None)

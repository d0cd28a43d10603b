"""The viewers of a run that need no terminal: none, line by line, and JSON events. `open_viewer.py` chooses one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from bot.cli.terminal.printer import lines_of
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode
from bot.contracts.formatting import count_of
from bot.contracts.progress import (
    EVENTS,
    AgentEvent,
    EndEvent,
    Event,
    Inquiry,
    NoteEvent,
    Person,
    ProblemsEvent,
    Reply,
    ResultEvent,
    TextEvent,
    WaitEvent,
)
from bot.session.progress.interruption import to_standard_error
from bot.session.progress.reporter import call_line, text_line, waiting_line, while_read

_NAMES = {kind: name for name, kind in EVENTS.items()}
_LAST_WRITE_SECONDS = 0.3
"""Seconds that somebody who writes still has."""

UNDER = "       "
"""Before the lines of a result."""


class Viewer:
    """Displays nothing; base of the others. `person` answers questions."""

    interrupted: Callable[[str], None] | None = None

    def __init__(self, person: Person | None = None) -> None:
        self.name = "slash-agent"
        self._turn = threading.RLock()
        self.person = self._ask if person else None
        self._person_answers = person

    def tell(self, event: Event) -> None:
        pass

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        """Nobody is at a keyboard here."""

    def stream(self, out: TextIO) -> TextIO:
        """The stream to use in place of `out` during the run."""
        return out

    def close(self) -> None:
        """End the display: other code may write to the terminal now."""

    def cut_off(self, text: str) -> None:
        """Print `text` as the last output: later callers block until the process ends."""
        self._turn.acquire(timeout=_LAST_WRITE_SECONDS)
        self._print_last(text)

    def _print_last(self, text: str) -> None:
        to_standard_error(f"{self.name}: {text}")

    def _ask(self, inquiry: Inquiry, cancel: CancelToken) -> Reply:
        # Whoever has something to tell waits until the question is answered.
        with self._turn:
            assert self._person_answers is not None
            return self._person_answers(inquiry, cancel)


class LineViewer(Viewer):
    """Prints a line a call, as in a log. `say` prints one line, in which no workflow command has effect."""

    def __init__(
        self, say: Callable[[str], None], person: Person | None = None, *, verbose: bool = False
    ) -> None:
        super().__init__(person)
        self._say = while_read(say)
        self._verbose = verbose

    def tell(self, event: Event) -> None:
        with self._turn:
            for line in plain_lines(event, verbose=self._verbose):
                self._say(line)


def plain_lines(event: Event, *, verbose: bool = False) -> Iterator[str]:
    """Yield the log lines of an event; calls of subagents only with `verbose`."""
    match event:
        case NoteEvent(text):
            yield waiting_line(text)
        case WaitEvent(text, limit):
            yield waiting_line(f"{text} (limit {limit:.0f} s)" if limit else text)
        case TextEvent(turn, text, "") if text.strip():
            yield text_line(turn, text)
        case ResultEvent() if verbose or not event.agent:
            tool = f"{event.agent}: {event.tool}" if event.agent else event.tool
            status = "denied" if event.denied else "failed" if event.failed else ""
            yield call_line(event.turn, tool, event.subject, status)
            if verbose and event.text.strip():
                yield from (f"{UNDER}{line}".rstrip() for line in lines_of(event.text))
        case ProblemsEvent(_, _, new) if verbose and new:
            yield f"{UNDER}{count_of(new, 'new problem')} in what it changed"
        case AgentEvent() if verbose:
            yield waiting_line(f"{event.agent} begins")
        case _:
            pass


class JsonViewer(Viewer):
    """An event a line, for programs."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._write = while_read(lambda line: print(line, file=out, flush=True))

    def tell(self, event: Event) -> None:
        with self._turn:
            self._write(event_line(event))

    def interrupted(self, text: str) -> None:
        self.tell(NoteEvent(text))

    def _print_last(self, text: str) -> None:
        self._write(event_line(EndEvent(int(ExitCode.CANCELLED), error=text)))
        super()._print_last(text)


def event_line(event: Event) -> str:
    """One event as JSON on one line."""
    return json.dumps({"event": _NAMES[type(event)], **_plain(event)})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    return value

"""The viewers of a run that need no terminal: none, line by line, and JSON events. `choose_viewer.py` chooses one."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TextIO

from bot.cli.terminal.printer import lines_of
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode
from bot.contracts.formatting import count_of
from bot.contracts.journal import AgentStarted, CompactionRecord, DiagnosticsRecord, Note, Response, Result
from bot.contracts.messages import Text
from bot.contracts.progress import EVENTS, EndEvent, Event, Inquiry, Person, Reply, View, WaitEvent, Written
from bot.report.timeline import call_subject
from bot.session.interruption import to_standard_error

_LAST_WRITE_SECONDS = 0.3
"""Seconds that somebody who writes still has."""
_MOST_LINES = 6
"""Of a result that is shown with `-v`."""


class Viewer(View):
    """Displays nothing; base of the others. `person` answers questions. `program` is the command that people typed."""

    program = "slash-agent"

    def __init__(self, person: Person | None = None) -> None:
        self._turn = threading.RLock()

        def ask(inquiry: Inquiry, cancel: CancelToken) -> Reply:
            # Whoever has something to tell waits until the question is answered.
            with self._turn:
                assert person is not None
                return person(inquiry, cancel)

        self.person = ask if person else None

    def close(self) -> None:
        """End the display: other code may write to the terminal now."""

    def cut_off(self, text: str) -> None:
        """Print `text` as the last output: later callers block until the process ends."""
        self._turn.acquire(timeout=_LAST_WRITE_SECONDS)
        self._print_last(text)

    def _print_last(self, text: str) -> None:
        to_standard_error(f"{self.program}: {text}")


class LineViewer(Viewer):
    """Prints a line a call, as in a log. `say` prints one line, in which no workflow command has effect."""

    def __init__(
        self, say: Callable[[str], None], person: Person | None = None, *, verbose: bool = False
    ) -> None:
        super().__init__(person)
        self._say = say
        self._verbose = verbose

    def tell(self, event: Event) -> None:
        with self._turn:
            for line in self._lines(event):
                self._print(line)

    def _lines(self, event: Event) -> Iterable[str]:
        return (line for line, _ in styled_lines(event, verbose=self._verbose))

    def _print(self, line: str) -> None:
        """Print until the reader goes away or its disk is full: the run continues."""
        try:
            self._say(line)
        except OSError:
            self._say = lambda line: None


_WIDTH = 100
"""Characters of a line on one call; a line of text may have twice as many."""


def styled_lines(event: Event, *, verbose: bool) -> Iterator[tuple[str, str]]:
    """Yield the log lines of an event, each with a style of rich's; calls of subagents only with `verbose`."""
    match event:
        case Note(text):
            yield waiting_line(text), "dim"
        case WaitEvent(text, limit):
            yield waiting_line(f"{text} (limit {limit:.0f} s)" if limit else text), "dim"
        case Written(Response(turn=turn, parts=parts), agent=""):
            if text := "\n".join(part.text for part in parts if isinstance(part, Text)).strip():
                first = text.split("\n\n", 1)[0]
                yield _cut(f"{turn:3d}  {' '.join(first.split())}", 2 * _WIDTH), "bold"
        case Written(Result() as record, _, agent, call) if verbose or not agent:
            tool = f"{agent}: {record.name}" if agent else record.name
            mark = " (denied)" if record.denied else " (failed)" if record.is_error else ""
            line = f"{record.turn:3d}  {tool} {call_subject(call)}".rstrip()
            yield _cut(line, _WIDTH - len(mark)) + mark, "red" if record.is_error else ""
            if verbose and record.content.strip():
                lines = lines_of(record.content.strip("\n"))
                more = [f"… {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
                for line in (*lines[:_MOST_LINES], *more):
                    yield _cut(f"       {line}", 2 * _WIDTH).rstrip(), "dim"
        case Written(DiagnosticsRecord(new_count=new)) if verbose and new:
            yield waiting_line(f"{count_of(new, 'new problem')} in what the next call changed"), "dim"
        case Written(AgentStarted(name=name)) if verbose:
            yield waiting_line(f"{name} begins"), "dim"
        case Written(CompactionRecord() as record, _, agent):
            yield waiting_line(_shortened(record, agent)), "dim"
        case _:
            pass


def waiting_line(text: str) -> str:
    """A line on a step between two turns."""
    return _cut(f"     {' '.join(text.split())}", 2 * _WIDTH)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _shortened(record: CompactionRecord, agent: str) -> str:
    whose = f"{agent}'s conversation" if agent else "the conversation"
    if record.failure:
        return f"{whose} does not fit the model's window, and could not be summed up: {record.failure}"
    return f"{whose} was summed up to fit the model's window: about {record.before:,} tokens are {record.after:,} now"


class JsonViewer(LineViewer):
    """An event a line, for programs."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(partial(print, file=out, flush=True))

    def _lines(self, event: Event) -> Iterable[str]:
        return [event_line(event)]

    def interrupted(self, text: str) -> None:
        self.tell(Note(text))

    def _print_last(self, text: str) -> None:
        self._print(event_line(EndEvent(int(ExitCode.CANCELLED), error=text)))
        super()._print_last(text)


def event_line(event: Event) -> str:
    """One event as JSON on one line; a record as the journal has it."""
    if isinstance(event, Written):
        return event.line.decode().rstrip("\n")
    return json.dumps({"type": EVENTS[type(event)], **event._asdict()})

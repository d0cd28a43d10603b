"""Choose how a run is displayed (`open_viewer`), and the viewers that need no terminal: none, line by line, and JSON
events."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from bot import __version__
from bot.cli.terminal.printer import lines_of
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.formatting import count_of
from bot.contracts.progress import (
    EVENTS,
    SCHEMA,
    AgentEvent,
    BeginEvent,
    CancelSignal,
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
from bot.github.actions import Actions
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

    def _ask(self, inquiry: Inquiry, cancel: CancelSignal) -> Reply:
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
            yield waiting_line(f"{text} ({limit:.0f} s at most)" if limit else text)
        case TextEvent(turn, text, "") if text.strip():
            yield text_line(turn, text)
        case ResultEvent() if verbose or not event.agent:
            tool = f"{event.agent}: {event.tool}" if event.agent else event.tool
            status = "denied" if event.denied else "failed" if event.failed else ""
            yield call_line(event.turn, tool, event.subject, status)
            if verbose and event.text.strip():
                yield from (f"{UNDER}{line}".rstrip() for line in lines_of(event.text))
        case ProblemsEvent(_, _, new, _) if verbose and new:
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


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the output during a run."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-q", "--quiet", action="store_true", help="print only the result and errors")
    group.add_argument("-v", "--verbose", action="store_true", help="show the first lines of each result too")
    group.add_argument(
        "--json-events", action="store_true", help="print events as JSON on standard output, one a line"
    )


@contextmanager
def open_viewer(arguments: argparse.Namespace, verb: str, log: TextIO | None = None) -> Iterator[Viewer]:
    """Open the viewer of a run. An error in the block becomes an end event. Without a terminal, lines go to `log`, by
    default standard error."""
    if arguments.json_events and getattr(arguments, "json", False):
        raise UsageError("--json and --json-events are two forms of the same: give one of them.")
    viewer = _choose_viewer(arguments, os.environ, log or sys.stderr)
    viewer.name = f"slash-agent {verb}"
    viewer.tell(BeginEvent(SCHEMA, __version__, verb))
    try:
        yield viewer
    except AgentError as error:
        viewer.tell(
            EndEvent(int(error.exit_code), error="\n".join((str(error), *getattr(error, "__notes__", ()))))
        )
        raise
    except KeyboardInterrupt:
        viewer.tell(EndEvent(int(ExitCode.CANCELLED), error="cancelled"))
        raise
    except Exception as error:
        viewer.tell(
            EndEvent(int(ExitCode.INTERNAL), error=f"internal error: {type(error).__name__}: {error}")
        )
        raise
    finally:
        viewer.close()


def _choose_viewer(arguments: argparse.Namespace, environment: Mapping[str, str], log: TextIO) -> Viewer:
    if arguments.json_events:
        return JsonViewer(sys.stdout)
    has_person = _has_person(environment)
    if arguments.quiet:
        return Viewer(_person_at(sys.stderr) if has_person else None)
    if is_drawable(sys.stderr, environment):
        from bot.cli.terminal.live import LiveViewer

        keyboard = sys.stdin.fileno() if has_person else None
        return LiveViewer(sys.stderr, keyboard, verbose=arguments.verbose)
    say = Actions(environment, log).print
    return LineViewer(say, _person_at(sys.stderr) if has_person else None, verbose=arguments.verbose)


def is_drawable(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether `stream` is a terminal that can be drawn on."""
    return (
        stream.isatty()
        and environment.get("TERM", "dumb") not in ("dumb", "unknown", "")
        and not _in_ci(environment)
    )


def _has_person(environment: Mapping[str, str]) -> bool:
    """Whether a person can be asked: standard error and standard input are terminals."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not _in_ci(environment)


def _in_ci(environment: Mapping[str, str]) -> bool:
    return environment.get("GITHUB_ACTIONS") == "true" or environment.get("CI", "") not in ("", "0", "false")


def _person_at(stream: TextIO) -> Person:
    """Return a function that asks the person at a terminal without a live display. Imports lazily."""

    def ask(inquiry: Inquiry, cancel: CancelSignal) -> Reply:
        from bot.cli.terminal import question
        from bot.cli.terminal.console import console_on

        return question.ask(inquiry, cancel, console_on(stream), sys.stdin.fileno())

    return ask

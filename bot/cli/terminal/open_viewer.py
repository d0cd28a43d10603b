"""Choose how a run is displayed: `open_viewer`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from bot import __version__
from bot.cli.options import add_flag
from bot.cli.terminal.viewer import JsonViewer, LineViewer, Viewer
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.progress import SCHEMA, BeginEvent, EndEvent, Inquiry, Person, Reply
from bot.github.actions import Actions


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the output during a run."""
    group = parser.add_mutually_exclusive_group()
    add_flag(group, "-q", "--quiet", help="print only the result and errors")
    add_flag(group, "-v", "--verbose", help="also print the first lines of each result")
    add_flag(group, "--json-events", help="print events as JSON on standard output, one a line")


@contextmanager
def open_viewer(arguments: argparse.Namespace, verb: str, log: TextIO | None = None) -> Iterator[Viewer]:
    """Open the viewer of a run. An error in the block becomes an end event. Lines go to `log`, where there is one, and
    nothing is drawn; by default they go to standard error, if that is no terminal."""
    if arguments.json_events and getattr(arguments, "json", False):
        raise UsageError("--json and --json-events are two forms of the same: give one of them.")
    viewer = _choose_viewer(arguments, os.environ, log)
    viewer.program = f"slash-agent {verb}"
    viewer.tell(BeginEvent(SCHEMA, __version__, verb))
    try:
        yield viewer
    except BaseException as error:
        viewer.tell(_end_of(error))
        raise
    finally:
        viewer.close()


def _end_of(error: BaseException) -> EndEvent:
    if isinstance(error, AgentError):
        return EndEvent(int(error.exit_code), error="\n".join((str(error), *getattr(error, "__notes__", ()))))
    if isinstance(error, KeyboardInterrupt):
        return EndEvent(int(ExitCode.CANCELLED), error="cancelled")
    return EndEvent(int(ExitCode.INTERNAL), error=f"internal error: {type(error).__name__}: {error}")


def _choose_viewer(
    arguments: argparse.Namespace, environment: Mapping[str, str], log: TextIO | None
) -> Viewer:
    if arguments.json_events:
        return JsonViewer(sys.stdout)
    has_person = _has_person(environment)
    if arguments.quiet:
        return Viewer(_person_at(sys.stderr) if has_person else None)
    if log is None and is_drawable(sys.stderr, environment):
        from bot.cli.terminal.live import LiveViewer

        keyboard = sys.stdin.fileno() if has_person else None
        return LiveViewer(sys.stderr, keyboard, verbose=arguments.verbose)
    say = Actions(environment, log or sys.stderr).print
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

    def ask(inquiry: Inquiry, cancel: CancelToken) -> Reply:
        from bot.cli.terminal import console, question

        return question.ask(inquiry, cancel, console.console_on(stream), sys.stdin.fileno())

    return ask

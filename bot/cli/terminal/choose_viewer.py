"""Choose how a run is displayed."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TextIO

from bot import __version__
from bot.cli.options import add_flag
from bot.cli.terminal.viewer import JsonViewer, LineViewer, Viewer
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.progress import SCHEMA, BeginEvent, EndEvent
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
    viewer = choose_viewer(arguments, os.environ, log)
    viewer.program = f"slash-agent {verb}"
    viewer.tell(BeginEvent(SCHEMA, __version__, verb))
    try:
        yield viewer
    except BaseException as error:
        code, text = ExitCode.INTERNAL, f"internal error: {type(error).__name__}: {error}"
        if isinstance(error, AgentError):
            code, text = error.exit_code, "\n".join((str(error), *getattr(error, "__notes__", ())))
        elif isinstance(error, KeyboardInterrupt):
            code, text = ExitCode.CANCELLED, "cancelled"
        viewer.tell(EndEvent(int(code), error=text))
        raise
    finally:
        viewer.close()


def choose_viewer(
    arguments: argparse.Namespace, environment: Mapping[str, str], log: TextIO | None
) -> Viewer:
    if arguments.json_events:
        return JsonViewer(sys.stdout)
    in_ci = environment.get("GITHUB_ACTIONS") == "true" or environment.get("CI", "") not in ("", "0", "false")
    # The gutter of a question holds only where each character takes one or two columns.
    is_drawable = sys.stderr.isatty() and not in_ci and sys.stderr.encoding.lower().startswith("utf")
    keyboard = sys.stdin.fileno() if is_drawable and sys.stdin is not None and sys.stdin.isatty() else None

    person = None
    if keyboard is not None:
        from bot.cli.terminal import question  # with rich

        person = partial(question.ask, console=question.PlainConsole(sys.stderr), keyboard=keyboard)
    if arguments.quiet:
        return Viewer(person)
    if log is None and is_drawable and environment.get("TERM", "dumb") not in ("dumb", "unknown", ""):
        from bot.cli.terminal.live import LiveViewer

        return LiveViewer(sys.stderr, keyboard, verbose=arguments.verbose)
    return LineViewer(Actions(environment, log or sys.stderr).print, person, verbose=arguments.verbose)

"""Who looks on at a run, by what was asked for and what there is: a terminal, a log, a program."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from bot import __version__
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.progress import SCHEMA, Began, Cancelled, Ended, Inquiry, Person, Reply
from bot.github.actions import Actions
from bot.terminal.looking import JsonLines, Lines, Looking


def add_viewing(parser: argparse.ArgumentParser) -> None:
    """How much is said while a run goes on."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument("-q", "--quiet", action="store_true", help="print only the result and errors")
    how.add_argument("-v", "--verbose", action="store_true", help="show the first lines of each result too")
    how.add_argument(
        "--json-events", action="store_true", help="print events as JSON on standard output, one a line"
    )


@contextmanager
def looking_on(arguments: argparse.Namespace, verb: str, log: TextIO | None = None) -> Iterator[Looking]:
    """Whoever looks on, until the block is left; a program is told how it ended when that is by an error. Without a
    terminal, lines go to `log`, which is standard error where nothing is said."""
    if arguments.json_events and getattr(arguments, "json", False):
        raise UsageError("--json and --json-events are two forms of the same: give one of them.")
    looking = _looking(arguments, os.environ, log or sys.stderr)
    looking.name = f"slash-agent {verb}"
    looking.tell(Began(SCHEMA, __version__, verb))
    try:
        yield looking
    except AgentError as error:
        looking.tell(
            Ended(int(error.exit_code), error="\n".join((str(error), *getattr(error, "__notes__", ()))))
        )
        raise
    except KeyboardInterrupt:
        looking.tell(Ended(int(ExitCode.CANCELLED), error="cancelled"))
        raise
    except Exception as error:
        looking.tell(Ended(int(ExitCode.INTERNAL), error=f"internal error: {type(error).__name__}: {error}"))
        raise
    finally:
        looking.close()


def _looking(arguments: argparse.Namespace, environment: Mapping[str, str], log: TextIO) -> Looking:
    if arguments.json_events:
        return JsonLines(sys.stdout)
    somebody = _somebody(environment)
    if arguments.quiet:
        return Looking(_asked_on(sys.stderr) if somebody else None)
    if somebody_sees(sys.stderr, environment):
        from bot.terminal.live import LiveLooking

        keyboard = sys.stdin.fileno() if somebody else None
        return LiveLooking(sys.stderr, keyboard, verbose=arguments.verbose)
    say = Actions(environment, log).print
    return Lines(say, _asked_on(sys.stderr) if somebody else None, verbose=arguments.verbose)


def somebody_sees(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether `stream` is a terminal that can be drawn on."""
    return (
        stream.isatty()
        and environment.get("TERM", "dumb") not in ("dumb", "unknown", "")
        and not _in_ci(environment)
    )


def _somebody(environment: Mapping[str, str]) -> bool:
    """Whether there is a person who can be asked: who reads standard error and types into standard input."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() and not _in_ci(environment)


def _in_ci(environment: Mapping[str, str]) -> bool:
    return environment.get("GITHUB_ACTIONS") == "true" or environment.get("CI", "") not in ("", "0", "false")


def _asked_on(stream: TextIO) -> Person:
    """The person at a terminal that nothing is drawn on. What a question needs is imported when there is one."""

    def ask(inquiry: Inquiry, cancel: Cancelled) -> Reply:
        from bot.terminal import asking
        from bot.terminal.screen import console_on

        return asking.ask(inquiry, cancel, console_on(stream), sys.stdin.fileno())

    return ask

"""Find the verb, import only its module, turn an `AgentError` into its sentence and exit code.

This is the one place where an exception becomes an exit code.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # as in `scrub_environment`
import argparse
import errno
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import ModuleType
from typing import TextIO

from bot import __version__
from bot.cli.scrub_environment import SECRET_VERBS
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import AgentError, ExitCode, UsageError, shortage_remedy
from bot.events.nearest import nearest
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.github.actions import Actions
from bot.session.context.secrets import known_secrets, mask_all

VERBS = {
    "fix": "do a task in a local checkout; the result is a new branch",
    "review": "review what the current branch changes",
    "run": "handle one GitHub event, from payload to bundle",
    "publish": "publish a bundle on GitHub as a draft pull request",
    "demo": "see it work on a sample repository: no key, no network",
    "restore": "list what a run made of each file, or restore one version",
    "salvage": "recover the result of a run that was killed",
    "clean": "remove the folders of finished runs",
    "report": "write the HTML report of a run from its journal",
    "maintain": "plan the maintenance tasks that are due, update their dashboard",
    "init": "write the policy file and the workflow for a repository",
    "doctor": "check what the bot needs here and say how to fix what is missing",
    "policy": "check a policy file, explain a decision",
    "tool": "run one tool as the agent would",
    "skills": "list the agent's skills, check skills of your own",
    "completion": "print a completion script for bash, zsh or fish",
}

_EPILOG = """exit codes: 0 done, 1 internal error, 2 usage or bad input, 3 refused, 4 budget spent, 5 provider
failed, 6 publishing failed, 7 gate refused the diff, 75 GitHub or this machine cannot do it now, 78 no sandbox,
130 cancelled

example: slash-agent fix --repo . "make the date parser accept ISO weeks\""""


class _HelpFormatter(argparse.HelpFormatter):
    """Fills each paragraph to the terminal's width, and leaves examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        fill = super()._fill_text
        return "\n\n".join(
            part if part.startswith(("example:", "verbs:")) else fill(part, width, indent) for part in parts
        )


def run(argv: Sequence[str]) -> int:
    """Run one command line; the exit code of `bot.contracts.errors.ExitCode`."""
    if argv and argv[0] in VERBS:
        return _written_out(argv[0], _run_verb(argv[0], argv[1:]))
    parser = top_parser()
    if not argv:
        parser.print_help()
        return _written_out("", ExitCode.DONE)
    if not argv[0].startswith("-"):
        meant = nearest(argv[0], VERBS, slips=2)
        parser.error(f"there is no verb {argv[0]!r}{f'; did you mean {meant!r}?' if meant else ''}")
    parser.parse_args(argv)
    return ExitCode.USAGE


def _run_verb(verb: str, rest: Sequence[str]) -> int:
    module, parser = verb_parser(verb)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        # As standard error does: what the encoding lacks is shown by its escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        arguments = parser.parse_args(rest)
        _check_current_folder()
        _mask_secrets(verb)
        with _interruptible():
            return int(module.run(arguments))
    except AgentError as error:
        message = _with_remedy(str(error))
        _say(f"slash-agent {verb}: {message}")
        _say_notes(error)
        _summarise(verb, message)
        return int(error.exit_code)
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may be gone
            print(f"slash-agent {verb}: cancelled", file=sys.stderr, flush=True)
        return ExitCode.CANCELLED
    except BrokenPipeError:
        return ExitCode.DONE  # whoever read our output has gone away, as `head` does
    except Exception as error:  # noqa: BLE001 - the last border: what gets here is a bug of ours
        number = errno.ENOMEM if isinstance(error, MemoryError) else getattr(error, "errno", None) or 0
        message = getattr(error, "strerror", None) or (os.strerror(number) if number else str(error))
        remedy = "make the disk writable" if number == errno.EROFS else shortage_remedy(message)
        if not remedy:
            return _internal_error(verb, error)
        if not _is_full(sys.stdout):  # else `_written_out` says it
            _say(f"slash-agent {verb}: {message}: {remedy} and try again")
        _say_notes(error)
        return ExitCode.UNAVAILABLE


def _with_remedy(sentence: str) -> str:
    remedy = shortage_remedy(sentence)
    return f"{sentence.rstrip('.')}: {remedy} and try again" if remedy else sentence


def _check_current_folder() -> None:
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise UsageError(
            "The current folder no longer exists: change to another one and try again."
        ) from error


def _is_full(stream: TextIO) -> bool:
    """Whether `stream` takes nothing any more, as on a full disk."""
    try:
        stream.flush()
    except OSError:
        return True
    return False


def _written_out(verb: str, code: int) -> int:
    """Flush both streams. Returns `code`, or `UNAVAILABLE` if standard output cannot be written; a reader that went
    away is no error. Else Python would flush at exit, with a traceback and an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                with suppress(OSError):
                    _say(f"slash-agent {verb}: standard output cannot be written: {error.strerror}")
                code = code or ExitCode.UNAVAILABLE
    return code


@contextmanager
def _interruptible() -> Iterator[None]:
    """A signal that ends the program is raised as an exception, so that nothing of the verb's work stays behind. SIGHUP
    stays ignored under `nohup`."""
    ends = [_signal.SIGINT, _signal.SIGTERM]
    if _signal.getsignal(_signal.SIGHUP) is not _signal.SIG_IGN:
        ends.append(_signal.SIGHUP)
    before = {number: _signal.signal(number, _signal.default_int_handler) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            _signal.signal(number, handler)


def _mask_secrets(verb: str) -> None:
    """Register secrets with the runner's log masking, which does not know those that a workflow made, nor base64."""
    if verb in SECRET_VERBS and os.environ.get("GITHUB_ACTIONS") == "true":
        # The runner reads commands from standard error as well, where no program looks for a verb's answer.
        mask_all(known_secrets(os.environ), Actions(os.environ, sys.stderr).add_mask)


def verb_parser(verb: str) -> tuple[ModuleType, argparse.ArgumentParser]:
    """The module of a verb, and the parser of its arguments."""
    module = load_verb(verb)
    parser = argparse.ArgumentParser(
        prog=f"slash-agent {verb}",
        description=module.__doc__,
        epilog=f"example: {module.EXAMPLE}",
        formatter_class=_HelpFormatter,
    )
    module.configure(parser)
    return module, parser


def load_verb(verb: str) -> ModuleType:
    """The verb's module. The collector does not walk what stays anyway: neither here, nor when a package of a vendor is
    imported, which takes a seventh less time then."""
    gc.disable()
    try:
        return importlib.import_module(f"bot.cli.{verb}")
    finally:
        gc.freeze()
        gc.enable()


def _internal_error(verb: str, error: Exception) -> ExitCode:
    """Print one sentence; the traceback only on request, since it may quote what a journal would mask."""
    if os.environ.get("SLASH_AGENT_TRACEBACK"):
        _say("".join(traceback.format_exception(error)).rstrip(), headline=False)
    _say(
        f"slash-agent {verb}: internal error, please report it: {type(error).__name__}: {error} "
        "(set SLASH_AGENT_TRACEBACK=1 to see the traceback)"
    )
    _say_notes(error)
    return ExitCode.INTERNAL


def _say_notes(error: Exception) -> None:
    """Print the notes of an error: where an interrupted run keeps its work, and the commands that recover it."""
    for note in getattr(error, "__notes__", ()):
        _say(note, headline=False)


def _say(line: str, *, headline: bool = True) -> None:
    """An error may quote what a command of the repository printed: nothing of it is a command to the runner, and no
    secret."""
    if headline and sys.stderr.isatty():
        Printer(sys.stderr, os.environ).headline("bad", _masked(line))
        return
    Actions(os.environ, sys.stderr).print(_masked(line))


def _summarise(verb: str, sentence: str) -> None:
    """Write the job's summary for an error too."""
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        from bot.report.summary import error_summary

        Actions(os.environ, sys.stderr).add_summary(error_summary(verb, _masked(sentence)))


def _masked(line: str) -> str:
    """`line` as a journal would keep it, where this process was given a secret at all."""

    secrets = known_secrets(os.environ)
    if not secrets:
        return line
    return Detector(Redactor(secrets)).masked(line)


def top_parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="slash-agent",
        usage="slash-agent [-h] [--version] VERB ...",
        description=f"From `/agent fix this` to a small, tested, explained draft pull request.\n\nverbs:\n{verbs}",
        epilog=_EPILOG,
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"slash-agent {__version__}")
    parser.add_argument("verb", choices=VERBS, metavar="VERB", help="see `slash-agent VERB --help`")
    return parser

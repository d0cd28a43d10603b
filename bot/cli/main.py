"""Find the verb, import only its module, run it: the one place where an exception ends in an exit code."""

import _signal  # type: ignore[import-not-found]  # as in `scrub_environment`
import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Protocol, cast

from bot import __version__
from bot.contracts.errors import ExitCode, UsageError
from bot.verbs import registry

VERBS = {verb.name: verb.local.help for verb in registry.VERBS.values() if verb.local} | {
    "run": "handle one GitHub event, from payload to bundle",
    "publish": "publish a bundle on GitHub as a draft pull request",
    "demo": "see it work on a sample repository: no key, no network",
    "restore": "list a run's versions of each file, or restore one",
    "salvage": "recover the result of a run that was killed",
    "clean": "remove the folders of finished runs",
    "report": "write the HTML report of a run from its journal",
    "maintain": "list the maintenance tasks that are due, or update their dashboard",
    "init": "write the policy file and the workflow for a repository",
    "doctor": "check what the bot needs, and print fixes for what is missing",
    "policy": "check a policy file, or explain a decision",
    "tool": "run one tool as the agent would",
    "skills": "list the agent's skills, or check your own",
    "completion": "print a completion script for bash, zsh or fish",
}

_EPILOG = """exit codes: 0 done, 1 internal error, 2 usage or bad input, 3 refused, 4 budget spent, 5 provider
failed, 6 publishing failed, 7 gate refused the diff, 75 GitHub or this machine cannot do it now, 78 no sandbox,
130 cancelled

example: slash-agent fix --repo . "make the date parser accept ISO weeks\""""

_NEEDS_LINUX = (
    "slash-agent {}: its sandbox needs Linux, and this is {}. Run it in a container instead: "
    "https://slash-agent.github.io/slash-agent/container/ has the command."
)


class Command(Protocol):
    """A module beside this one, or the command of a verb that is made from its record."""

    __doc__: str | None
    EXAMPLE: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> ExitCode | None: ...


class _HelpFormatter(argparse.HelpFormatter):
    """Fills each paragraph to the terminal's width, and leaves examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill, as_is = super()._fill_text, ("example:", "verbs:")
        parts = (part if part.startswith(as_is) else fill(part, width, indent) for part in text.split("\n\n"))
        return "\n\n".join(parts)


def run(argv: Sequence[str]) -> int:
    """Run one command line; the exit code of `bot.contracts.errors.ExitCode`."""
    if argv and argv[0] in VERBS:
        if sys.platform != "linux":
            print(_NEEDS_LINUX.format(argv[0], sys.platform), file=sys.stderr)
            return ExitCode.NO_SANDBOX
        return _written_out(argv[0], _run_verb(argv[0], argv[1:]))
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
    if not argv:
        parser.print_help()
        return _written_out("", ExitCode.DONE)
    if not argv[0].startswith("-"):
        from bot.contracts.nearest import nearest  # a mistake may cost its import

        meant = nearest(argv[0], VERBS)
        parser.error(f"there is no verb {argv[0]!r}{f'; did you mean {meant!r}?' if meant else ''}")
    parser.parse_args(argv)
    return ExitCode.USAGE


def _run_verb(verb: str, rest: Sequence[str]) -> int:
    from bot.cli import errors  # `--version` and `--help` need nothing of it

    module = load_verb(verb)
    parser = argparse.ArgumentParser(
        prog=f"slash-agent {verb}",
        description=module.__doc__,
        epilog=f"example: {module.EXAMPLE}",
        formatter_class=_HelpFormatter,
    )
    module.configure(parser)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        # As standard error does: what the encoding lacks is shown by its escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        arguments = parser.parse_args(rest)
        try:
            os.getcwd()
        except FileNotFoundError as error:
            gone = "The current folder no longer exists: change to another one and try again."
            raise UsageError(gone) from error
        errors.mask_secrets(verb)
        with _interruptible():
            return int(module.run(arguments) or ExitCode.DONE)
    except KeyboardInterrupt:
        with suppress(OSError):  # the terminal may be gone
            print(f"slash-agent {verb}: cancelled", file=sys.stderr, flush=True)
        return ExitCode.CANCELLED
    except BrokenPipeError:
        return ExitCode.DONE  # whoever read our output has gone away, as `head` does
    except Exception as error:  # noqa: BLE001 - the last border: what gets here is a bug of ours
        return int(errors.report(verb, error))


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
                from bot.cli import errors

                with suppress(OSError):
                    errors.say(f"slash-agent {verb}: standard output cannot be written: {error.strerror}")
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


def load_verb(name: str) -> Command:
    """The command called `name`."""
    if (verb := registry.VERBS.get(name)) and verb.local:
        return cast("Command", importlib.import_module("bot.cli.verb_command").LocalVerb(verb, verb.local))
    return cast("Command", importlib.import_module(f"bot.cli.{name}"))

"""What people and the runner see of an error, without a secret."""

from __future__ import annotations

import os
import sys
import traceback

from bot.cli.scrub_environment import may_use_secrets
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import ExitCode
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.github.actions import Actions
from bot.session.context.secrets import known_secrets, mask_all


def internal_error(verb: str, error: Exception) -> ExitCode:
    """Print one sentence; the traceback only on request, since it may quote what a journal would mask."""
    if os.environ.get("SLASH_AGENT_TRACEBACK"):
        say("".join(traceback.format_exception(error)).rstrip(), headline=False)
    say(
        f"slash-agent {verb}: internal error, please report it: {type(error).__name__}: {error} "
        "(set SLASH_AGENT_TRACEBACK=1 to see the traceback)"
    )
    say_notes(error)
    return ExitCode.INTERNAL


def say_notes(error: Exception) -> None:
    """Print the notes of an error: where an interrupted run keeps its work, and the commands that recover it."""
    for note in getattr(error, "__notes__", ()):
        say(note, headline=False)


def say(line: str, *, headline: bool = True) -> None:
    """An error may quote what a command of the repository printed: nothing of it is a command to the runner, and no
    secret."""
    if headline and sys.stderr.isatty():
        Printer(sys.stderr, os.environ).headline("bad", _masked(line))
        return
    Actions(os.environ, sys.stderr).print(_masked(line))


def summarise(verb: str, sentence: str) -> None:
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


def mask_secrets(verb: str) -> None:
    """Register secrets with the runner's log masking, which does not know those that a workflow made, nor base64."""
    if may_use_secrets(verb) and os.environ.get("GITHUB_ACTIONS") == "true":
        # The runner reads commands from standard error as well, where no program looks for a verb's answer.
        mask_all(known_secrets(os.environ), Actions(os.environ, sys.stderr).add_mask)

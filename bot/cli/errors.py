"""What people and the runner see of an error, without a secret, and its exit code."""

import errno
import os
import sys
import traceback

from bot.cli.scrub_environment import may_use_secrets
from bot.cli.terminal.printer import Printer
from bot.contracts.errors import AgentError, ExitCode, shortage_remedy
from bot.gate.redact import Redactor, mask_all
from bot.gate.secrets import known_secrets
from bot.github.actions import Actions


def report(verb: str, error: Exception) -> ExitCode:
    """Print one sentence, and the notes of the error: where an interrupted run keeps its work, and the commands that
    recover it. The traceback of an internal error only on request, since it may quote what a journal would mask."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else getattr(error, "errno", None) or 0
    message = getattr(error, "strerror", None) or (os.strerror(number) if number else str(error))
    remedy = "make the disk writable" if number == errno.EROFS else shortage_remedy(message)
    if remedy:
        message = f"{message.rstrip('.')}: {remedy} and try again"
    if isinstance(error, AgentError):
        code = error.exit_code
    elif remedy:
        code = ExitCode.UNAVAILABLE
    else:
        code = ExitCode.INTERNAL
        if os.environ.get("SLASH_AGENT_TRACEBACK"):
            say("".join(traceback.format_exception(error)).rstrip(), headline=False)
        message = (
            f"internal error, please report it: {type(error).__name__}: {error} "
            "(set SLASH_AGENT_TRACEBACK=1 to see the traceback)"
        )
    if isinstance(error, AgentError) or not (remedy and _is_full()):
        say(f"slash-agent {verb}: {message}")
    for note in getattr(error, "__notes__", ()):
        say(note, headline=False)
    if isinstance(error, AgentError) and os.environ.get("GITHUB_STEP_SUMMARY"):
        from bot.report.summary import error_summary

        Actions(os.environ, sys.stderr).add_summary(error_summary(verb, _masked(message)))
    return code


def _is_full() -> bool:
    """Whether standard output takes nothing any more, as on a full disk: `main` prints that."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def say(line: str, *, headline: bool = True) -> None:
    """An error may quote what a command of the repository printed: nothing of it is a command to the runner, and no
    secret."""
    if headline and sys.stderr.isatty():
        Printer(sys.stderr).headline("bad", _masked(line))
    else:
        Actions(os.environ, sys.stderr).print(_masked(line))


def _masked(line: str) -> str:
    """`line` as a journal would keep it, where this process was given a secret at all."""
    secrets = known_secrets(os.environ)
    return Redactor(secrets).masked(line) if secrets else line


def mask_secrets(verb: str) -> None:
    """Register secrets with the runner's log masking, which does not know those that a workflow made, nor base64."""
    if may_use_secrets(verb) and os.environ.get("GITHUB_ACTIONS") == "true":
        # The runner reads commands from standard error as well, where no program looks for a verb's answer.
        mask_all(known_secrets(os.environ), Actions(os.environ, sys.stderr).add_mask)

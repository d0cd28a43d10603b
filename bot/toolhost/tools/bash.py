"""`bash`: run a shell command, for everything without a tool of its own: tests, builds, git, scripts."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.contracts.workspace_tools import DEFAULT_TIMEOUT, MAX_TIMEOUT
from bot.toolhost.background import MOST, NO_LIMIT, Job
from bot.toolhost.context import Context, text_argument
from bot.toolhost.exit_messages import on_one_line
from bot.toolhost.files import inside, mention_files
from bot.toolhost.spill import Spill
from bot.toolhost.subreaper import Command
from bot.toolhost.tools import bash_output
from bot.toolhost.working_folder import FolderNote

_LONGEST = 6 * 3600
"""Seconds, the maximum for the supervisor's own commands: setup and checks."""

_ECHO_PAUSE = 1.0
"""Seconds between two lines that are sent while a command runs."""

_FIRST_WAIT = 0.25
"""Seconds after which the first result of a background command is made: one that cannot run has failed by then."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    command, timeout = _arguments(arguments)
    in_background = arguments.get("background") is True
    cwd = _working_folder(context)
    try:
        if in_background:
            return _start(command, timeout, cwd, context)
        return _run(command, timeout or DEFAULT_TIMEOUT, cwd, context)
    except OSError as error:
        raise ToolFailure(f"The command could not be run: {error.strerror or error}.") from error


def _run(command: str, timeout: int, cwd: Path, context: Context) -> ToolOutcome:
    folder_note = FolderNote(context.tmp, context.seq)
    environment = {**context.environment, **folder_note.variables()}
    last_line, next_echo = "", 0.0

    def lasting() -> None:
        nonlocal last_line, next_echo
        if context.echo is None or time.monotonic() < next_echo:
            return
        if (line := spill.last_line()) and line != last_line:
            last_line, next_echo = line, time.monotonic() + _ECHO_PAUSE
            context.echo(line)

    with Spill(context.spill, context.seq) as spill:
        job = Job(0, command, spill, timeout, context.cancelled)
        argv = ["bash", "-c", command, "bash"]
        usage = context.command_usage()
        job.run(Command(argv, cwd, environment, timeout), context.monitor, usage, lasting)
        if job.failure:
            raise OSError(job.failure)
        outcome = bash_output.new_output(job, context)
    mention_files(context, cwd, command, outcome.content)
    notes = _carry_over(cwd, folder_note.take(), context)
    content = "\n".join([outcome.content, *(f"[{note}]" for note in notes)])
    outside = context.cwd is not None and not inside(str(context.cwd), context.real_root)
    metadata = {**outcome.metadata, "command": command, **({"outside": True} if outside else {})}
    return ToolOutcome(content, outcome.is_error, metadata)


def _start(command: str, timeout: int | None, cwd: Path, context: Context) -> ToolOutcome:
    running = context.jobs.running()
    if len(running) >= MOST:
        names = ", ".join(f"{job.number} ({on_one_line(job.command)})" for job in running)
        raise ToolFailure(
            f"{MOST} commands run in the background, and no more may: {names}. End one with bash_kill."
        )
    argv = ["bash", "-c", command, "bash"]
    job = context.jobs.start(
        command,
        Command(argv, cwd, context.environment, timeout or NO_LIMIT),
        Spill(context.spill, context.seq),
    )
    job.wait(_FIRST_WAIT, context.cancelled)
    if job.failure:
        raise OSError(job.failure)
    note = (
        f"background command {job.number} was started in {cwd}; its output goes to {job.spill.name}; see "
        f'bash_output {{"id": {job.number}}}. The working folder is still {cwd}'
    )
    outcome = bash_output.new_output(job, context, [note])
    return ToolOutcome(outcome.content, outcome.is_error, {**outcome.metadata, "command": command})


def _arguments(arguments: Mapping[str, Any]) -> tuple[str, int | None]:
    command, timeout = text_argument(arguments, "command"), arguments.get("timeout")
    if not command.strip():
        raise ToolFailure('"command" is empty. Give the command to run.')
    if "\0" in command:
        raise ToolFailure('"command" holds a NUL character, which no command line can. Write it as \\x00.')
    if timeout is None:
        return command, None
    if not isinstance(timeout, int) or isinstance(timeout, bool) or not 1 <= timeout <= _LONGEST:
        raise ToolFailure(f'"timeout" is in seconds, a whole number from 1 to {MAX_TIMEOUT}.')
    return command, timeout


def _working_folder(context: Context) -> Path:
    """The folder to run in. Raises `ToolFailure` if it was removed: a command such as `rm -r *` must not run
    elsewhere."""
    if context.cwd is None:
        return context.root
    if os.path.isdir(context.cwd) and os.access(context.cwd, os.X_OK):
        return context.cwd
    left, context.cwd = context.cwd, None
    raise ToolFailure(
        f"The working folder {left} is gone or cannot be entered, so nothing was run. It is {context.root} again: "
        "send the command once more if it should run there."
    )


def _carry_over(before: Path, left: str | None, context: Context) -> list[str]:
    """Store the shell's last folder; return a note if it changed. `left` is the result of `FolderNote.take`."""
    if left is None and os.path.isdir(before):
        return [f"the working folder is still {before}"]
    if left and os.path.isdir(left):
        if Path(left) == before:
            return []
        context.cwd = Path(left)
        outside = "" if inside(left, context.real_root) else ", outside the repository"
        return [f"working folder is now {left}{outside}"]
    if not os.path.isdir(before):
        context.cwd = None
    next_folder = context.cwd or context.root
    return [f"the working folder in which it ended is gone; the next command runs in {next_folder}"]

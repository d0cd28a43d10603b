"""`bash`: run a shell command, for everything without a tool of its own: tests, builds, git, scripts."""

import os
import re
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bot.contracts.capacity import retry_at_capacity
from bot.contracts.tool_limits import DEFAULT_TIMEOUT, MAX_BACKGROUND, MAX_TIMEOUT
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.files import inside, mention_files
from bot.toolhost.output import Spill
from bot.toolhost.shell import NO_LIMIT, Job
from bot.toolhost.subreaper import Command
from bot.toolhost.tools.bash_output import new_output, on_one_line

_LONGEST = 6 * 3600
"""Seconds, the maximum for the supervisor's own commands: setup and checks."""

_ECHO_PAUSE = 1.0
"""Seconds between two lines that are sent while a command runs."""

_LONGEST_NOTE = 16 * 1024
"""Bytes, four times what the kernel takes for a path."""

_PATIENCE = 2.0
"""Seconds for a machine without room for another thread."""

_FIRST_WAIT = 0.25
"""Seconds after which the first result of a background command is made: one that cannot run has failed by then."""


def run(context: Context, command: str, timeout: int | None = None, background: bool = False) -> ToolOutcome:
    if not command.strip():
        raise ToolFailure('"command" is empty. Give the command to run.')
    if "\0" in command:
        raise ToolFailure('"command" holds a NUL character, which no command line can. Write it as \\x00.')
    if timeout is not None and not 1 <= timeout <= _LONGEST:
        raise ToolFailure(f'"timeout" is in seconds, a whole number from 1 to {MAX_TIMEOUT}.')
    cwd = context.cwd or context.root
    if context.cwd and not (os.path.isdir(cwd) and os.access(cwd, os.X_OK)):
        # A command such as `rm -r *` must not run elsewhere.
        context.cwd = None
        raise ToolFailure(
            f"The working folder {cwd} is gone or cannot be entered, so nothing was run. It is {context.root} again: "
            "send the command once more if it should run there."
        )
    try:
        if background:
            return _start(command, timeout, cwd, context)
        return _run(command, timeout or DEFAULT_TIMEOUT, cwd, context)
    except OSError as error:
        raise ToolFailure(f"The command could not be run: {error.strerror or error}.") from error


def _run(command: str, timeout: int, cwd: Path, context: Context) -> ToolOutcome:
    last_line, next_echo = "", 0.0

    def lasting() -> None:
        nonlocal last_line, next_echo
        if context.echo is None or time.monotonic() < next_echo:
            return
        if (line := spill.last_line()) and line != last_line:
            last_line, next_echo = line, time.monotonic() + _ECHO_PAUSE
            context.echo(line)

    with _folder_note(context) as (variable, read_note):
        spill = Spill(context.spill, context.seq)
        job = Job(0, command, spill, timeout, context.cancelled)
        whole = Command(["bash", "-c", command, "bash"], cwd, {**context.environment, **variable}, timeout)
        job.run(whole, context.monitor, lasting)
        left = read_note()
        if job.failure:
            raise OSError(job.failure)
        outcome = new_output(job, context)
    mention_files(context, cwd, command, outcome.content)
    notes = _carry_over(cwd, left, context)
    content = "\n".join([outcome.content, *(f"[{note}]" for note in notes)])
    metadata = {**outcome.metadata, "command": command}
    if context.cwd is not None and not inside(str(context.cwd), context.real_root):
        metadata["outside"] = True
    return ToolOutcome(content, outcome.is_error, metadata)


def _start(command: str, timeout: int | None, cwd: Path, context: Context) -> ToolOutcome:
    running = context.running_jobs()
    if len(running) >= MAX_BACKGROUND:
        names = ", ".join(f"{job.number} ({on_one_line(job.command)})" for job in running)
        raise ToolFailure(
            f"{MAX_BACKGROUND} commands run in the background, and no more may: {names}. End one with bash_kill."
        )
    whole = Command(["bash", "-c", command, "bash"], cwd, context.environment, timeout or NO_LIMIT)
    job = Job(len(context.jobs) + 1, command, Spill(context.spill, context.seq), whole.timeout)
    name = f"background {job.number}"
    thread = threading.Thread(target=job.run, args=(whole, context.monitor), name=name, daemon=True)
    retry_at_capacity(thread.start, patience=_PATIENCE)
    context.jobs.append(job)
    job.wait(_FIRST_WAIT, context.cancelled)
    if job.failure:
        raise OSError(job.failure)
    note = (
        f"background command {job.number} was started in {cwd}; its output goes to {job.spill.name}; see "
        f'bash_output {{"id": {job.number}}}. The working folder is still {cwd}'
    )
    outcome = new_output(job, context, [note])
    return outcome._replace(metadata={**outcome.metadata, "command": command})


@contextmanager
def _folder_note(context: Context) -> Iterator[tuple[dict[str, str], Callable[[], bytes]]]:
    """Yield the variable with which bash writes its last folder to a file, and a function that reads the note.

    BASH_ENV names a script that bash reads before the command, so that the command itself is unchanged, in bash's error
    messages too. The note takes the script's place.
    """
    with context.file_for_a_command() as (note, descriptor):
        # It writes an empty line for a folder that was removed. The braces silence `set -x`.
        trap = f"{{ {{ pwd -P || echo; }} >|{shlex.quote(note)}; }} 2>/dev/null"
        script = os.fsencode(f"unset BASH_ENV; trap {shlex.quote(trap)} EXIT\n")
        variable: dict[str, str] = {}
        with suppress(OSError):
            if descriptor >= 0 and os.write(descriptor, script) == len(script):
                variable = {"BASH_ENV": re.sub(r'([$`"\\])', r"\\\1", note)}  # bash expands the value

        def read() -> bytes:
            left = os.pread(descriptor, _LONGEST_NOTE, 0) if variable else b""
            return b"" if left == script else left

        yield variable, read


def _carry_over(before: Path, left: bytes, context: Context) -> list[str]:
    """Store the shell's last folder; return a note if it changed. `left` is its line in the note: empty if it was
    killed, replaced by `exec`, had an exit trap of its own, or could not write; only a line end if it was removed."""
    folder = os.fsdecode(left.removesuffix(b"\n"))
    if not left and os.path.isdir(before):
        return [f"the working folder is still {before}"]
    if folder and os.path.isdir(folder):
        if Path(folder) == before:
            return []
        context.cwd = Path(folder)
        outside = "" if inside(folder, context.real_root) else ", outside the repository"
        return [f"working folder is now {folder}{outside}"]
    if not os.path.isdir(before):
        context.cwd = None
    next_folder = context.cwd or context.root
    return [f"the working folder in which it ended is gone; the next command runs in {next_folder}"]

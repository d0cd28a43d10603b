"""The shell, for everything that has no tool of its own: tests, builds, git, scripts."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import arguments as given
from bot.workshop.host import output, shell
from bot.workshop.host.background import MOST
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.endings import ending, on_one_line
from bot.workshop.host.paths import inside
from bot.workshop.host.specs import DEFAULT_TIMEOUT, MAX_TIMEOUT
from bot.workshop.host.spill import Spill
from bot.workshop.host.tools import bash_output

_LONGEST = 6 * 3600
"""Seconds. What the supervisor's own commands may ask for, a repository's setup and checks."""

_SCRIPT_FROM = 100_000
"""A longer command goes into a file: one argument may hold 128 KiB, all of them 2 MiB."""

_LONGEST_FOLDER = 16 * 1024
"""Bytes, four times what the kernel takes for a path."""

_FIRST_LOOK = 0.25
"""Seconds in which a background command that cannot run has failed already."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    command, timeout = _arguments(arguments)
    in_background = given.flag(arguments, "background")
    cwd = _working_folder(context)
    try:
        if in_background:
            return _start(command, timeout, cwd, context)
        return _run(command, timeout or DEFAULT_TIMEOUT, cwd, context)
    except OSError as error:
        raise ToolFailure(f"The command could not be run: {error.strerror or error}.") from error


def _run(command: str, timeout: int, cwd: Path, context: Context) -> ToolOutcome:
    carried = context.tmp / f".cwd-{context.seq}"
    with Spill(context.spill, context.seq) as spill:
        ended = shell.run_command(
            ["bash", "-c", _as_argument(command, context), "bash"],
            cwd=cwd,
            environment={**context.environment, **_leaving_word(carried)},
            timeout=timeout,
            cancelled=context.cancelled,
            sink=spill,
            keepers=context.keepers,
            watchdog=context.watchdog(),
        )
        ended = replace(ended, swept=ended.swept + context.keepers.collect())
        spill.finish()
        shown = output.present(spill)
        limit, hints = bash_output.reached(ended, spill, context)
    notes = [*ending(ended, timeout), *hints, *_carry_over(carried, cwd, context)]
    metadata = {
        "command": command,
        "exit_code": ended.exit_code,
        "duration": round(ended.duration, 4),
        "timed_out": ended.timed_out,
        "limit": limit,
        "spill": str(spill.path),
        "truncated": shown.truncated,
        "bytes": spill.total,
        "running": len(context.jobs.running()),
    }
    return ToolOutcome(output.with_notes(shown, notes), is_error=ended.stopped, metadata=metadata)


def _start(command: str, timeout: int | None, cwd: Path, context: Context) -> ToolOutcome:
    running = context.jobs.running()
    if len(running) >= MOST:
        names = ", ".join(f"{job.number} ({on_one_line(job.command)})" for job in running)
        raise ToolFailure(
            f"{MOST} commands run in the background, and no more may: {names}. End one with bash_kill."
        )
    job = context.jobs.start(
        command,
        ["bash", "-c", _as_argument(command, context), "bash"],
        cwd=cwd,
        environment=context.environment,
        timeout=timeout,
        spill=Spill(context.spill, context.seq),
        watchdog=context.watchdog(),
    )
    job.wait(_FIRST_LOOK, context.cancelled)
    note = (
        f"background command {job.number} was started in {cwd}; its output goes to {job.spill.path}; see "
        f'bash_output {{"id": {job.number}}}. The working folder is still {cwd}'
    )
    looked = bash_output.look(job, context, [note])
    return ToolOutcome(looked.content, looked.is_error, {**looked.metadata, "command": command})


def _arguments(arguments: Mapping[str, Any]) -> tuple[str, int | None]:
    command, timeout = arguments.get("command"), arguments.get("timeout")
    if not isinstance(command, str) or not command.strip():
        raise ToolFailure('"command" is empty. Give the command to run.')
    if "\0" in command:
        raise ToolFailure('"command" holds a NUL character, which no command line can. Write it as \\x00.')
    if timeout is None:
        return command, None
    if not isinstance(timeout, int) or isinstance(timeout, bool) or not 1 <= timeout <= _LONGEST:
        raise ToolFailure(f'"timeout" is in seconds, a whole number from 1 to {MAX_TIMEOUT}.')
    return command, timeout


def _leaving_word(carried: Path) -> dict[str, str]:
    """Variables that have the shell write into `carried` where it ended: BASH_ENV names a file that bash reads before
    the command, so that the command itself stays as it is, in bash's error messages too.

    That file is `carried` itself. Nothing where it cannot be written: on a full disk commands must run all the same.
    """
    try:
        _written_anew(carried, os.fsencode(_trap(carried)))
    except OSError:
        with suppress(OSError):
            carried.unlink()
        return {}
    return {"BASH_ENV": re.sub(r'([$`"\\])', r"\\\1", str(carried))}  # bash expands the value


def _written_anew(path: Path, data: bytes) -> None:
    """Whatever a command before left under this name, a pipe or a link: it goes, and nothing is written through it."""
    path.unlink(missing_ok=True)
    with open(path, "xb") as file:
        file.write(data)


def _read_plain(path: Path) -> bytes:
    """The beginning of a file that commands could put something else in the place of."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder the kernel says so itself
            raise OSError(errno.EINVAL, "something else stands in the place of its note")
        return os.read(fd, _LONGEST_FOLDER)
    finally:
        os.close(fd)


def _trap(carried: Path) -> str:
    """`>|` since the command may have set noclobber; the braces keep `set -x` quiet."""
    return f"unset BASH_ENV; trap '{{ pwd -P >|{_quoted(str(carried), inner=True)}; }} 2>/dev/null' EXIT\n"


def _as_argument(command: str, context: Context) -> str:
    """The command as it is; a very long one as a script file."""
    if len(command.encode("utf-8", "surrogatepass")) <= _SCRIPT_FROM:
        return command
    script = context.tmp / f".command-{context.seq}.sh"
    script.write_text(command, encoding="utf-8", errors="surrogateescape")
    return f". {_quoted(str(script))}"


def _quoted(text: str, *, inner: bool = False) -> str:
    """`text` as one word of bash; `inner` where it stands inside single quotes already."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    return quoted.replace("'", "'\\''") if inner else quoted


def _working_folder(context: Context) -> Path:
    """Where to run. Nothing is run in another folder than the model believes: `rm -r *` is not to be guessed at."""
    if context.cwd is None:
        return context.root
    if os.path.isdir(context.cwd) and os.access(context.cwd, os.X_OK):
        return context.cwd
    left, context.cwd = context.cwd, None
    raise ToolFailure(
        f"The working folder {left} is gone or cannot be entered, so nothing was run. It is {context.root} again: "
        "send the command once more if it should run there."
    )


def _carry_over(carried: Path, before: Path, context: Context) -> list[str]:
    """Remember the folder in which the shell ended, and say so when it is another one than before."""
    try:
        left = _read_plain(carried)
        carried.unlink()
    except FileNotFoundError:
        left = os.fsencode(_trap(carried))  # the command cleared the temporary folder
    except OSError as error:
        return [f"the working folder could not be carried over: {error.strerror}"]
    if left == os.fsencode(_trap(carried)):  # killed, replaced by exec, or with a trap of its own
        return [f"the working folder is still {before}"]
    folder = Path(os.fsdecode(left.removesuffix(b"\n")))
    if folder == before:
        return []
    if not left or not folder.is_dir():
        where = folder if left else "in which it ended"
        return [f"the working folder {where} is gone; the next command runs in {before}"]
    context.cwd = folder
    outside = "" if inside(str(folder), os.path.realpath(context.root)) else ", outside the repository"
    return [f"working folder is now {folder}{outside}"]

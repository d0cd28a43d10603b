"""The shell, for everything that has no tool of its own: tests, builds, git, scripts."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import output, shell
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.shell import Ended
from bot.workshop.host.specs import DEFAULT_TIMEOUT, MAX_TIMEOUT
from bot.workshop.host.spill import Spill

_LONGEST = 6 * 3600
"""Seconds. What the supervisor's own commands may ask for, a repository's setup and checks."""

_SCRIPT_FROM = 100_000
"""A longer command goes into a file: one argument may hold 128 KiB, all of them 2 MiB."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    command, timeout = _arguments(arguments)
    cwd, lost = _working_folder(context)
    carried = context.tmp / f".cwd-{context.seq}"
    with Spill(context.spill, context.seq) as spill:
        try:
            ended = shell.run_command(
                _argv(command, carried, context),
                cwd=cwd,
                environment=context.environment,
                timeout=timeout,
                cancelled=context.cancelled,
                sink=spill,
            )
        except OSError as error:
            raise ToolFailure(f"The command could not be run: {error.strerror or error}.") from error
        shown = output.present(spill)
    moved = _carry_over(carried, cwd, context)
    notes = [*lost, *_ending(ended, timeout), *moved]
    text = shown.text if shown.text.strip() else "(no output)\n"
    content = text + ("" if text.endswith("\n") else "\n") + "\n".join(f"[{note}]" for note in notes)
    metadata = {
        "command": command,
        "exit_code": ended.exit_code,
        "duration": round(ended.duration, 4),
        "timed_out": ended.timed_out,
        "spill": str(spill.path),
        "truncated": shown.truncated,
        "bytes": spill.total,
    }
    return ToolOutcome(content, is_error=ended.timed_out or ended.cancelled, metadata=metadata)


def _arguments(arguments: Mapping[str, Any]) -> tuple[str, int]:
    command, timeout = arguments.get("command"), arguments.get("timeout", DEFAULT_TIMEOUT)
    if not isinstance(command, str) or not command.strip():
        raise ToolFailure('"command" is empty. Give the command to run.')
    if "\0" in command:
        raise ToolFailure('"command" holds a NUL character, which no command line can. Write it as \\x00.')
    if not isinstance(timeout, int) or isinstance(timeout, bool) or not 1 <= timeout <= _LONGEST:
        raise ToolFailure(f'"timeout" is in seconds, a whole number from 1 to {MAX_TIMEOUT}.')
    return command, timeout


def _argv(command: str, carried: Path, context: Context) -> list[str]:
    """`bash -c` with the command as it is, behind a trap on the same line (so that bash's line numbers are
    the command's own) that leaves the working folder in the file `carried`.

    `>|` since the command may have set noclobber.
    """
    if len(command.encode("utf-8", "surrogatepass")) > _SCRIPT_FROM:
        script = context.tmp / f".command-{context.seq}.sh"
        script.write_text(command, encoding="utf-8", errors="surrogateescape")
        command = f". {_quoted(str(script))}"
    trap = f"trap 'pwd -P >|{_quoted(str(carried), inner=True)} 2>/dev/null' EXIT"
    return ["bash", "-c", f"{trap}; {command}", "bash"]


def _quoted(text: str, *, inner: bool = False) -> str:
    """`text` as one word of bash; `inner` where it stands inside single quotes already."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    return quoted.replace("'", "'\\''") if inner else quoted


def _working_folder(context: Context) -> tuple[Path, list[str]]:
    """Where to run, and a note when the folder of the call before is gone."""
    if context.cwd is None:
        return context.root, []
    if os.path.isdir(context.cwd) and os.access(context.cwd, os.X_OK):
        return context.cwd, []
    gone, context.cwd = context.cwd, None
    return context.root, [f"the working folder {gone} is gone; this ran in {context.root}"]


def _carry_over(carried: Path, before: Path, context: Context) -> list[str]:
    """Remember the folder in which the shell ended, and say so when it is another one than before."""
    try:
        left = carried.read_bytes()
        carried.unlink()
    except FileNotFoundError:
        return []  # killed, replaced by exec, or with a trap of its own: the folder stays what it was
    except OSError as error:
        return [f"the working folder could not be carried over: {error.strerror}"]
    folder = Path(os.fsdecode(left.removesuffix(b"\n")))
    if not left or folder == before:
        return []
    if not folder.is_dir():
        return [f"the working folder {folder} is gone; the next command runs in {before}"]
    context.cwd = folder
    return [f"working folder is now {folder}"]


def _ending(ended: Ended, timeout: int) -> list[str]:
    notes: list[str] = []
    if ended.cancelled:
        notes.append("cancelled: the command and all its processes were killed")
    elif ended.timed_out:
        notes.append(
            f"timed out after {timeout} s: the command and all its processes were killed; what it printed is "
            f"above. Give a longer timeout (at most {MAX_TIMEOUT} s) or do less in one call"
        )
    elif ended.exit_code < 0:
        notes.append(f"killed by {_signal_name(-ended.exit_code)}")
    else:
        notes.append(f"exit code {ended.exit_code}")
    if ended.swept and not ended.timed_out and not ended.cancelled:
        left = "1 process was" if ended.swept == 1 else f"{ended.swept} processes were"
        notes.append(f"{left} still running in the background and {left.split()[-1]} stopped")
    return notes


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

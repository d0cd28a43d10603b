"""`bash_output`: the new output and the state of a background command. `bash_kill`: end one of them, or all."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.contracts.workspace_tools import MAX_WAIT
from bot.toolhost import exit_messages, output
from bot.toolhost.background import Job
from bot.toolhost.context import Context, integer_argument
from bot.toolhost.exit_messages import ending, on_one_line, silence
from bot.toolhost.output import Start
from bot.toolhost.shell import CommandResult
from bot.toolhost.spill import Spill

_IN_MEMORY = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 - those of the sandbox
_SIGNS_IN = 4096
"""Bytes at the end of the output in which an error message is searched."""


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    job = find(arguments, context)
    job.wait(integer_argument(arguments, "wait", 0, 0, MAX_WAIT), context.cancelled)
    return new_output(job, context)


def new_output(job: Job, context: Context, notes: Sequence[str] = ()) -> ToolOutcome:
    """The output since the last call, and the command's state."""
    ended = job.ended  # read before its output: the output of an ended command is complete
    runs = job.runs
    text = output.present(job.spill, job.next_start)
    job.next_start = Start(job.spill.size, job.spill.newlines)
    limit, hints = "", list[str]()
    if not runs and ended is not None:
        limit, hints = _reached(ended, job.spill, context)
    nothing = "(no new output)\n" if job.number else "(no output)\n"
    content = output.with_notes(text, [*notes, *_state(job), *hints], nothing)
    metadata = {
        **({"background": job.number} if job.number else {}),
        "exit_code": None if runs or ended is None else ended.exit_code,
        "timed_out": ended is not None and ended.timed_out,
        "limit": limit,
        "spill": str(job.spill.path),
        "bytes": job.spill.total,
        "running": len(context.jobs.running()),
    }
    stopped = ended is not None and ended.stopped and not (job.number and ended.cancelled)
    return ToolOutcome(content, is_error=stopped, metadata=metadata)


def _reached(ended: CommandResult, spill: Spill, context: Context) -> tuple[str, list[str]]:
    """The limit that a command reached, empty for none, and notes about it that `ending` does not have."""
    if ended.limit is not None:
        return ended.limit.name, []
    if ended.exit_code == 0:
        return "", []
    folders = (*_IN_MEMORY, context.environment.get("HOME", "/root"), str(context.tmp), str(context.root))
    met = exit_messages.reached_kernel_limit(
        ended.exit_code, spill.last(_SIGNS_IN), context.monitor.limits, folders
    )
    return (met[0], [met[1]]) if met else ("", [])


def find(arguments: Mapping[str, Any], context: Context) -> Job:
    """The command that the call names. Raises `ToolFailure` with a list of all."""
    number = integer_argument(arguments, "id", 0, 1, 1 << 40)
    job = context.jobs.get(number)
    if job is not None:
        return job
    known = ", ".join(
        f"{job.number} ({on_one_line(job.command)}, {'running' if job.runs else 'over'})"
        for job in context.jobs.known()
    )
    raise ToolFailure(
        f"There is no background command {number}. "
        + (f"There are: {known}." if known else "None was started, or they were ended for the checks.")
        + ' Start one with bash and "background": true.'
    )


def _state(job: Job) -> list[str]:
    if job.runs:
        now = time.monotonic()
        silent = silence(now - job.spill.last_at, "; it printed nothing")
        return [f"running for {now - job.began:.1f} s{silent}"]
    if job.ended is None:
        return [f"it was killed, since its output could not be kept: {job.failure}"]
    if job.number and job.ended.cancelled:
        return [f"killed after {job.ended.duration:.1f} s"]
    return ending(job.ended, job.timeout, job.spill.name if job.number else "")

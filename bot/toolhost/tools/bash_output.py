"""`bash_output`: the new output and the state of a background command; how a command ended and which limit it reached,
in words for the model."""

import time
from collections.abc import Sequence

from bot.contracts.formatting import signal_name
from bot.contracts.tool_limits import MAX_TIMEOUT, MAX_WAIT
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost import output
from bot.toolhost.context import Context
from bot.toolhost.resource_limits import WHAT_NEXT, reached_kernel_limit, size_text
from bot.toolhost.shell import CommandResult, Job

_IN_MEMORY = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 - those of the sandbox
_SIGNS_IN = 4096
"""Bytes at the end of the output in which an error message is searched."""


def run(context: Context, id: int, wait: int = 0) -> ToolOutcome:
    job = find(context, id)
    job.wait(min(wait, MAX_WAIT), context.cancelled)
    return new_output(job, context)


def new_output(job: Job, context: Context, notes: Sequence[str] = ()) -> ToolOutcome:
    """The output since the last call, and the command's state."""
    runs = job.runs  # read before its output: the output of an ended command is complete
    ended = None if runs else job.ended
    text = output.present(job.spill, job.next_start)
    job.next_start = job.spill.size
    limit, hints = "", list[str]()
    if ended is not None and ended.limit is not None:
        limit = ended.limit.name
    elif ended is not None and ended.exit_code:
        home, limits = context.environment.get("HOME", "/root"), context.monitor.limits
        folders = (*_IN_MEMORY, home, str(context.tmp), str(context.root))
        printed = job.spill.last(_SIGNS_IN)
        if reached := reached_kernel_limit(ended.exit_code, printed, limits, folders):
            limit, hints = reached[0], [reached[1]]
    nothing = "(no new output)\n" if job.number else "(no output)\n"
    content = output.with_notes(text, [*notes, *_state(job), *hints], nothing)
    metadata = {
        **({"background": job.number} if job.number else {}),
        "exit_code": ended and ended.exit_code,
        "timed_out": ended is not None and ended.timed_out,
        "limit": limit,
        "spill": str(job.spill.path),
        "bytes": job.spill.total,
        "running": len(context.running_jobs()),
    }
    stopped = ended is not None and ended.stopped and not (job.number and ended.cancelled)
    return ToolOutcome(content, is_error=stopped, metadata=metadata)


def find(context: Context, number: int) -> Job:
    """The command that the call names. Raises `ToolFailure` with a list of all."""
    if job := next((job for job in context.jobs if job.number == number), None):
        return job
    known = ", ".join(
        f"{job.number} ({on_one_line(job.command)}, {'running' if job.runs else 'over'})"
        for job in context.jobs
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


_SILENT = 30.0
"""Seconds without output from which on a command may hang."""

_MAX_COMMAND = 60
_LONGER = (
    f"Give a longer timeout (at most {MAX_TIMEOUT} s), do less in one call, or use background without one"
)


def ending(ended: CommandResult, timeout: float, output: str = "") -> list[str]:
    """How a command ended, as notes of one sentence. `output` is the file with the output of a background command."""
    notes: list[str] = []
    where = f"in {output}" if output else "above"
    while_running = f" while these ran: {', '.join(ended.running)}" if ended.running else ""
    if ended.cancelled:
        notes.append("cancelled: the command and all its processes were killed")
    elif ended.timed_out:
        notes.append(
            f"timed out after {timeout:g} s: the command and all its processes were killed{while_running}; "
            f"what it printed is {where}"
            f"{silence(ended.quiet, ', and it printed nothing')}. {_LONGER}"
        )
    elif ended.limit is not None:
        size = size_text(ended.limit.allowed)
        exceeded = {
            "memory": f"more than {size} of memory was held by the command and all it started",
            "processes": f"more than {ended.limit.allowed} processes ran in the workspace at once",
            "disk": f"more than {size} was added to the work tree and the temporary folder",
        }[ended.limit.name]
        notes.append(
            f"stopped: {exceeded}, which is the limit here: {_what(ended)} "
            f"killed{while_running}; what it printed is {where}. "
            f"{WHAT_NEXT[ended.limit.name]}"
        )
    elif ended.exit_code < 0:
        notes.append(f"killed by {signal_name(-ended.exit_code)}")
        if ended.all_ended:
            notes.append(f"{_what(ended)} killed, since a command had ended the process that waits for it")
    else:
        notes.append(f"exit code {ended.exit_code}")
    if ended.swept and not ended.stopped:
        left = "1 process was" if ended.swept == 1 else f"{ended.swept} processes were"
        notes.append(f"{left} still running in the background and {left.split()[-1]} stopped")
    return notes


def silence(seconds: float, words: str) -> str:
    """A note that nothing was printed for `seconds`, so that the command may hang; empty under `_SILENT`."""
    if seconds < _SILENT:
        return ""
    return f"{words} for {seconds:.0f} s: it may hang, or wait for input, of which there is none"


def on_one_line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _MAX_COMMAND else line[: _MAX_COMMAND - 3] + "..."


def _what(ended: CommandResult) -> str:
    if ended.all_ended:
        return "everything that ran in the workspace, background commands and language servers too, was"
    return "the command and all its processes were"

"""End background commands."""

from collections.abc import Sequence

from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.shell import Job
from bot.toolhost.tools.bash_output import find, new_output


def run(context: Context, id: int | None = None) -> ToolOutcome:
    if id is None:
        running = context.running_jobs()
        _end(running, context)
        ended = ", ".join(str(job.number) for job in running) or "none was running"
        metadata = {"running": len(context.running_jobs())}
        return ToolOutcome(f"[background commands ended: {ended}]", metadata=metadata)
    job = find(context, id)
    note = [] if job.runs else [f"background command {job.number} had ended already"]
    _end([job], context)
    return new_output(job, context, note)


def _end(jobs: Sequence[Job], context: Context) -> None:
    for job in jobs:
        job.stop()
    context.monitor.tidy()

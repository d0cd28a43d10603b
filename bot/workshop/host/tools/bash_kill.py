"""`bash_kill`: the end of one background command, or of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host.context import Context
from bot.workshop.host.tools import bash_output


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    if arguments.get("id") is None:
        running = context.jobs.running()
        context.jobs.end(running)
        ended = ", ".join(str(job.number) for job in running) or "none was running"
        still = len(context.jobs.running())
        return ToolOutcome(f"[background commands ended: {ended}]", metadata={"running": still})
    job = bash_output.find(arguments, context)
    note = [] if job.runs else [f"background command {job.number} had ended already"]
    context.jobs.end([job])
    return bash_output.look(job, context, note)

"""End background commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.tools.bash_output import find, new_output


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    if arguments.get("id") is None:
        running = context.jobs.running()
        context.jobs.end(running)
        metadata = {"running": len(context.jobs.running())}
        if not running:
            return ToolOutcome("[background commands ended: none was running]", metadata=metadata)
        ended = ", ".join(str(job.number) for job in running)
        return ToolOutcome(f"[background commands ended: {ended}]", metadata=metadata)
    job = find(arguments, context)
    note = [] if job.runs else [f"background command {job.number} had ended already"]
    context.jobs.end([job])
    return new_output(job, context, note)

"""`approve`: from the hash in the command to the plan that this bot posted in the thread."""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.request import Request
from bot.github.host import Host
from bot.intake.answers import Refusal
from bot.intake.command import PLAN
from bot.publish.plan.found import find_plan
from bot.publish.thread.place import Place


def approved(request: Request, place: Place, host: Host) -> Request | Refusal:
    """`request` with the very plan that it approves, or why there is none to carry out."""
    if request.thread is None:
        return Refusal("`/agent approve` is for the thread that the plan stands in.", True, ExitCode.USAGE)
    try:
        return replace(request, plan=find_plan(host, place, request.options.get(PLAN, "")))
    except UsageError as error:
        return Refusal(str(error), True, ExitCode.USAGE)

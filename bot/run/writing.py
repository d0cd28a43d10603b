"""The proposals of a run that may write on threads: its tool, and what of them goes into the bundle."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.agent.writes import ProposeWrite
from bot.contracts import journal as lines
from bot.contracts.request import Request
from bot.contracts.writes import Write, named, texts_of
from bot.gate.secrets import withhold_if_secret
from bot.policy.schema import Policy
from bot.policy.writes import misplaced, refusal
from bot.tasks.allowed import allowance_of, standing_of
from bot.tasks.task import Task


def propose_writes(
    policy: Policy, request: Request, task: Task | None, write_line: Callable[[lines.Record], None]
) -> ProposeWrite | None:
    """The tool of this run; `None` where it may write nothing. Every proposal is journalled."""
    allowance, rules = allowance_of(policy, request, task), standing_of(task)
    if allowance is None:
        return None
    triage = request.triage
    states = {one.state.number: one.state for one in triage.threads} if triage else {}

    def judge(write: Write, before: Sequence[Write]) -> str:
        if why := refusal(write, allowance, before):
            return why
        if secret := withhold_if_secret("\n".join(texts_of(write))):
            return f"The text was {secret}. Say it without."
        seen = states.get(write.number)
        if triage and seen and (why := misplaced(write, seen, rules, at=triage.at)):
            return f"Not on #{write.number}: {why}."
        return ""

    def record(write: Write, refused: str) -> None:
        write_line(lines.WriteProposed(write.kind, write.number, named(write), not refused, refused))

    return ProposeWrite(judge, record)

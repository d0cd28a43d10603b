"""A task made part of a run: what it asks for, and what it adds to the policy. It can only narrow what is allowed."""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.request import Request, Tier
from bot.policy.budget import least
from bot.policy.rule import WRITING_TOOLS, PathRule
from bot.policy.schema import Budget, Effect, Policy
from bot.tasks.task import Task


def worded(request: Request, task: Task) -> Request:
    """The request in the words of the task's file; what somebody wrote beside the task's name comes after them."""
    beside = "" if request.instruction == f"the task {task.name}" else f"\n\n{request.instruction}"
    return replace(request, instruction=f"{task.instruction}{beside}".rstrip())


def bounded(policy: Policy, task: Task) -> Policy:
    """The policy with the task's limits and paths: the same for the run and for publishing."""
    return replace(
        policy,
        budget=_smaller(policy.budget, task.limits),
        rules=(*policy.rules, *_rules(task)),
        bring=tuple(dict.fromkeys((*policy.bring, *task.bring))),
    )


def _rules(task: Task) -> tuple[PathRule, ...]:
    if not task.paths:
        return ()
    only = ", ".join(task.paths)
    return (
        PathRule(
            name=f"the task {task.name}",
            effect=Effect.DENY,
            reason=f"it may change only {only}",
            tiers=frozenset(Tier),
            globs=("**",),
            exceptions=task.paths,
            tools=WRITING_TOOLS,
        ),
    )


def _smaller(one: Budget, other: Budget) -> Budget:
    return Budget(
        usd=least(one.usd, other.usd),
        turns=least(one.turns, other.turns),
        minutes=least(one.minutes, other.minutes),
        tokens=least(one.tokens, other.tokens),
        commands=least(one.commands, other.commands),
        output=least(one.output, other.output),
        runs_a_day=least(one.runs_a_day, other.runs_a_day),
    )

"""Apply a task to a run's request and policy. A task can only narrow what the policy allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from bot.contracts.request import Request, Tier
from bot.contracts.writes import WriteCaps
from bot.maintenance.task import Task
from bot.policy.limits import Budget
from bot.policy.rule import WRITING_TOOLS, Effect, PathRule
from bot.policy.tiers import least
from bot.policy.values import Policy
from bot.policy.writes import VERBS, Allowance, ThreadConditions, caps_of


def with_task_instruction(request: Request, task: Task) -> Request:
    """Return the request with the task's instruction, followed by what a person wrote after the task's name."""
    return replace(request, instruction="\n\n".join(filter(None, (task.instruction, request.instruction))))


def with_task_limits(policy: Policy, task: Task) -> Policy:
    """Return the policy narrowed to the task's limits and paths. Run and publish use the same function."""
    return replace(
        policy,
        budget=_smaller_budget(policy.budget, task.limits),
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
            paths=("**",),
            exceptions=task.paths,
            tools=WRITING_TOOLS,
        ),
    )


def _smaller_budget(first: Budget, second: Budget) -> Budget:
    keys = [one.name for one in fields(Budget)]
    return Budget(**{key: least(getattr(first, key), getattr(second, key)) for key in keys})


def allowance_of(policy: Policy, request: Request, task: Task | None) -> Allowance | None:
    """Return what a run may write on threads, or `None` for nothing, by task or verb, tier and policy. The same for
    the model's proposals and for publishing."""
    caps = caps_of(policy.writes.caps, request.actor.tier)
    triggers = frozenset(policy.triggers.labels)
    if request.task:
        if task is None or task.writes is None:
            return None
        caps, labels = caps.capped_by(task.writes.caps), task.writes.labels
        return Allowance(caps, _threads(request), labels, triggers=triggers) if caps else None
    caps = caps.capped_by(VERBS.get(request.verb, WriteCaps()))
    if request.verb not in policy.writes.verbs or request.thread is None or not caps:
        return None
    threads = {request.thread.number: request.thread.is_pull_request}
    return Allowance(caps, threads, policy.writes.labels, _review_threads(request), triggers)


def standing_of(task: Task | None) -> ThreadConditions:
    """Return the conditions that a thread must meet when the task writes on it. Requests of people have none."""
    if task is None or task.threads is None or task.writes is None:
        return ThreadConditions()
    threads, writes = task.threads, task.writes
    return ThreadConditions(
        threads.state,
        threads.kind,
        threads.labels,
        threads.without,
        threads.idle_days,
        writes.labels,
        writes.close_after_days,
    )


def _threads(request: Request) -> Mapping[int, bool]:
    threads = request.triage.threads if request.triage else ()
    return {thread.state.number: thread.state.is_pull_request for thread in threads}


def _review_threads(request: Request) -> frozenset[int]:
    """Ids of the first comments of the review threads in the model's context."""
    return frozenset(
        thread.id for thread in (*([request.anchor] if request.anchor else []), *request.unresolved)
    )

"""Apply a task to a run's request and policy. A task can only narrow what the policy allows."""

from dataclasses import fields, replace

from bot.contracts.request import REVIEW, Request, Tier
from bot.contracts.writes import WriteCaps
from bot.maintenance.task import Task
from bot.policy.rule import WRITING_TOOLS, Effect, PathRule
from bot.policy.settings import Policy
from bot.policy.tiers_and_budget import Budget, least
from bot.policy.writes import VERBS, WRITING_TIERS, Allowance


def with_task_instruction(request: Request, task: Task) -> Request:
    """Return the request with the task's instruction, followed by what a person wrote after the task's name."""
    return request._replace(instruction="\n\n".join(filter(None, (task.instruction, request.instruction))))


def with_task_limits(policy: Policy, task: Task) -> Policy:
    """Return the policy narrowed to the task's limits and paths. Run and publish use the same function."""
    keys = [one.name for one in fields(Budget)]
    limits = {key: least(getattr(policy.budget, key), getattr(task.limits, key)) for key in keys}
    only_these = PathRule(
        name=f"the task {task.name}",
        effect=Effect.DENY,
        reason=f"it may change only {', '.join(task.paths)}",
        tiers=frozenset(Tier),
        paths=("**",),
        exceptions=task.paths,
        tools=WRITING_TOOLS,
    )
    return replace(
        policy,
        budget=Budget(**limits),
        rules=(*policy.rules, only_these) if task.paths else policy.rules,
        bring=tuple(dict.fromkeys((*policy.bring, *task.bring))),
    )


def allowance_of(policy: Policy, request: Request, task: Task | None) -> Allowance | None:
    """Return what a run may write on threads, or `None` for nothing. The same for the model's proposals and for
    publishing."""
    if request.actor.tier not in WRITING_TIERS:
        return None
    triggers = frozenset(policy.triggers.labels)
    if request.task:
        if task is None or task.writes is None or not task.writes.caps:
            return None
        states = [one.state for one in request.triage.threads] if request.triage else []
        threads = {one.number: one.is_pull_request for one in states}
        return Allowance(task.writes.caps, threads, task.writes.labels, triggers=triggers)
    answers = request.round == REVIEW and request.thread is not None
    if request.thread is None or not (answers or request.verb in policy.writes.verbs):
        return None
    threads = {request.thread.number: request.thread.is_pull_request}
    # The first comments of the review threads in the model's context.
    visible_threads = (*([request.anchor] if request.anchor else []), *request.unresolved)
    ids = frozenset(thread.id for thread in visible_threads)
    caps = WriteCaps(reply=len(ids)) if answers else VERBS[request.verb]
    return Allowance(caps, threads, policy.writes.labels, ids, triggers)

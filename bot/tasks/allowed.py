"""What a run may write on threads: from its task, or its verb where it has none, the tier and the policy. The same for
the model's proposals and for what is made of them when the bundle is published."""

from __future__ import annotations

from collections.abc import Mapping

from bot.contracts.request import Request
from bot.contracts.writes import WriteCaps
from bot.policy.schema import Policy
from bot.policy.writes import VERBS, Allowance, Standing, caps_of
from bot.tasks.task import Task


def allowance_of(policy: Policy, request: Request, task: Task | None) -> Allowance | None:
    """`None` where the run may write nothing."""
    caps = caps_of(policy.writes, request.actor.tier)
    triggers = frozenset(policy.triggers.labels)
    if request.task:
        if task is None or task.writes is None:
            return None
        caps, labels = caps.within(task.writes.caps), task.writes.labels
        return Allowance(caps, _shown(request), labels, triggers=triggers) if caps else None
    caps = caps.within(VERBS.get(request.verb, WriteCaps()))
    if request.verb not in policy.writes.verbs or request.thread is None or not caps:
        return None
    threads = {request.thread.number: request.thread.is_pull_request}
    return Allowance(caps, threads, policy.writes.labels, _remarks(request), triggers)


def standing_of(task: Task | None) -> Standing:
    """What must hold of a thread when it is written on. A person's request asks nothing of its own thread."""
    if task is None or task.threads is None or task.writes is None:
        return Standing()
    wanted, writes = task.threads, task.writes
    return Standing(
        wanted.state, wanted.kind, wanted.labels, wanted.without, wanted.idle_days, writes.labels,
        writes.close_after_days,
    )  # fmt: skip


def _shown(request: Request) -> Mapping[int, bool]:
    threads = request.triage.threads if request.triage else ()
    return {one.state.number: one.state.is_pull_request for one in threads}


def _remarks(request: Request) -> frozenset[int]:
    """The review comments that begin a conversation which the model was shown."""
    return frozenset(
        thread.id for thread in (*([request.anchor] if request.anchor else []), *request.unresolved)
    )

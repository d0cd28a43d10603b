"""The limits of an actor's day: how many runs, counted from GitHub's list of workflow runs, and how much money.

A run counts if this workflow started it for an event of the actor since midnight UTC and it was not skipped, unless our
comments show that it asked no model. Runs cannot be deleted without write access. `help`, `status` and `stop` are never
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from bot.contracts.formatting import count_of, money
from bot.contracts.request import Actor, Request, Tier
from bot.events.event_request import Refusal
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import WorkflowRunData
from bot.publish.thread.history import cost_today, unasked_runs

_NOT_COUNTED = ("skipped",)
# Pages of 100 that are looked at: who reaches the end of them has had their day.
_MOST = 200


@dataclass(frozen=True, slots=True)
class Quota:
    """`refusal` is one sentence where the day is used up, `note` one where it could not be counted."""

    refusal: str = ""
    note: str = ""


def check_quota(host: GitHub, request: Request, limit: int, now: str, *, run: int, workflow: str) -> Quota:
    """Whether the actor of `request` may have one more run today. `run` is the present one, 0 outside Actions, where
    nothing is counted; `workflow` is the path of its file; `now` is RFC 3339. At most two calls."""
    repository, actor = request.repository, request.actor
    if not run or not workflow or actor.tier is Tier.LOCAL:
        return Quota()
    if limit <= 0:
        return Quota(
            refusal=f"{actor.login} cannot start runs here: the policy allows none for the tier {actor.tier}."
        )
    # Schedules and failed runs are nobody's: GitHub names somebody as their actor who did not ask.
    scheduled = actor.tier is Tier.SCHEDULE
    try:
        runs = host.workflow_runs(
            repository,
            workflow.rpartition("/")[2],
            event=request.trigger.event if scheduled and request.trigger else "",
            created=f">={now[:10]}",
            actor="" if scheduled else actor.login,
        )
        used = _used(runs, run)
        if len(used) >= limit:
            used -= unasked_runs(host, repository, now)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        return _uncounted(actor)
    if len(used) < limit:
        return Quota()
    return Quota(
        refusal=f"{actor.login} has used today's {count_of(limit, 'run')} of the tier {actor.tier}. "
        "The count starts again at 00:00 UTC."
    )


def usd_left(
    host: GitHub,
    request: Request,
    limit: float,
    now: str,
    run: str,
    *,
    has_progress: bool,
    most: float,
) -> float | Refusal:
    """Return what the actor may still spend today of `limit`, in USD, or a refusal. `run` is this run, `most` the
    limit of one run. `has_progress` says whether the workflow writes progress comments, which hold the cost."""
    in_thread = request.actor.tier is not Tier.BOT
    if not has_progress:
        return Refusal(
            "The policy limits what a person can spend in a day (`usd_a_day`). The cost is counted from the progress "
            "comments, which this workflow turns off. Turn on `progress`, or remove `usd_a_day` from the policy.",
            in_thread,
        )
    try:
        runs = _runs_of(host, request, now) if run else None
        cost = cost_today(host, request.repository, request.actor, now, run, runs=runs, most=most)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        cost = None
    actor = request.actor
    if cost is None:
        return Refusal(
            f"The cost of {actor.login}'s runs today cannot be counted, and the policy allows the tier {actor.tier} "
            f"at most {money(limit)} a day.",
            in_thread,
        )
    if cost >= limit:
        return Refusal(
            f"{actor.login} has spent today's {money(limit)} of the tier {actor.tier}. "
            "The count starts again at 00:00 UTC.",
            in_thread,
        )
    return limit - cost


def _runs_of(host: GitHub, request: Request, now: str) -> Mapping[str, bool] | None:
    """Ids of the runs that the request's actor started today, by GitHub's list, and whether each is over; `None` if the
    token may not see it."""
    try:
        runs = host.workflow_runs(request.repository, created=f">={now[:10]}", actor=request.actor.login)
        return {str(one.id): one.status == "completed" for one in runs if one.conclusion not in _NOT_COUNTED}
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        return None


def _used(runs: Iterator[WorkflowRunData], present: int) -> frozenset[str]:
    return frozenset(
        str(run.id) for run in islice(runs, _MOST) if run.id != present and run.conclusion not in _NOT_COUNTED
    )


def _uncounted(actor: Actor) -> Quota:
    """Return the result for a token that cannot list runs. A maintainer could lift the limit anyway, so gets a note."""
    words = "today's runs cannot be counted without the permission `actions: read`; add it to the job"
    if actor.tier is Tier.MAINTAINER:
        return Quota(note=f"note: {words}")
    return Quota(refusal=f"Nothing was started, since {words}.")

"""The limits of an actor's day: how many runs, counted from GitHub's list of workflow runs, and how much money.

A run counts if this workflow started it for an event of the actor since midnight UTC and it was not skipped, unless our
comments show that it asked no model. Runs cannot be deleted without write access. `help`, `status` and `stop` are never
refused.
"""

from __future__ import annotations

from itertools import islice

from bot.contracts.formatting import count_of, money
from bot.contracts.request import Request, Tier
from bot.events.event_request import RefusedError
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.thread.history import cost_today, unasked_runs

_NOT_COUNTED = ("skipped",)
_MOST = 200
"""Runs that are looked at; whoever has more today is over the limit."""

_AGAIN = "The count starts again at 00:00 UTC."
_UNCOUNTED = "today's runs cannot be counted without the permission `actions: read`; add it to the job"


def check_quota(github: GitHub, request: Request, limit: int, now: str, *, run: int, workflow: str) -> str:
    """Raise `RefusedError` unless the actor of `request` may have one more run today; return a note for the log, or
    empty. `run` is the present one, 0 outside Actions, where nothing is counted; `workflow` is the path of its file;
    `now` is RFC 3339. At most two calls."""
    repository, actor = request.repository, request.actor
    if not run or not workflow or actor.tier is Tier.LOCAL:
        return ""
    if limit <= 0:
        raise RefusedError(
            f"{actor.login} cannot start runs here: the policy allows none for the tier {actor.tier}.",
        )
    # GitHub names somebody as the actor of a schedule or a failed run who did not ask.
    scheduled = actor.tier is Tier.SCHEDULE
    try:
        runs = github.workflow_runs(
            repository,
            workflow.rpartition("/")[2],
            event=request.trigger.event if scheduled and request.trigger else "",
            created=f">={now[:10]}",
            actor="" if scheduled else actor.login,
        )
        newest = [one for one in islice(runs, _MOST) if one.id != run]
        used = {str(one.id) for one in newest if one.conclusion not in _NOT_COUNTED}
        if len(used) >= limit:
            used -= unasked_runs(github, repository, now)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        # A maintainer could lift the limit anyway.
        if actor.tier is Tier.MAINTAINER:
            return f"note: {_UNCOUNTED}"
        raise RefusedError(f"Nothing was started, since {_UNCOUNTED}.") from error
    if len(used) >= limit:
        words = f"{actor.login} has used today's {count_of(limit, 'run')} of the tier {actor.tier}."
        raise RefusedError(f"{words} {_AGAIN}")
    return ""


def usd_left(
    github: GitHub, request: Request, limit: float, now: str, run: str, *, has_progress: bool, most: float
) -> float:
    """Return what the actor may still spend today of `limit`, in USD. Raises `RefusedError`. `run` is this run, `most`
    the limit of one run. `has_progress` says whether the workflow writes progress comments, which hold the cost."""
    actor = request.actor
    if not has_progress:
        raise RefusedError(
            "The policy limits what a person can spend in a day (`usd_a_day`). The cost is counted from the progress "
            "comments, which this workflow turns off. Turn on `progress`, or remove `usd_a_day` from the policy."
        )
    try:
        runs = _runs_today(github, request, now) if run else None
        cost = cost_today(github, request.repository, actor, now, run, runs=runs, most=most)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        cost = None
    if cost is None:
        raise RefusedError(
            f"The cost of {actor.login}'s runs today cannot be counted, and the policy allows the tier {actor.tier} "
            f"at most {money(limit)} a day."
        )
    if cost >= limit:
        words = f"{actor.login} has spent today's {money(limit)} of the tier {actor.tier}."
        raise RefusedError(f"{words} {_AGAIN}")
    return limit - cost


def _runs_today(github: GitHub, request: Request, now: str) -> dict[str, bool] | None:
    """Ids of the runs that the request's actor started today, by GitHub's list, and whether each is over; `None` if the
    token may not see it."""
    try:
        runs = github.workflow_runs(request.repository, created=f">={now[:10]}", actor=request.actor.login)
        return {str(one.id): one.status == "completed" for one in runs if one.conclusion not in _NOT_COUNTED}
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        return None

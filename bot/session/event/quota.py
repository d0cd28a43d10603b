"""The runs that an account may start in a day."""

from collections.abc import Collection
from itertools import islice

from bot.contracts.formatting import count_of
from bot.contracts.request import Actor, Request, Tier
from bot.events.event_request import RefusedError
from bot.follow_up.record import FOLLOWED
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.thread.comments import own_comments
from bot.publish.thread.history import MOST, unasked_runs

_MOST_A_DAY = 200
"""Runs that are looked at; whoever has more today is over the limit."""

_UNCOUNTED = "today's runs cannot be counted without the permission `actions: read`; add it to the job"


def check_quota(github: GitHub, request: Request, limit: int, now: str, *, run: int, workflow: str) -> str:
    """Raise `RefusedError` unless the actor of `request` may have one more run today; return a note for the log, or
    empty. A run counts if this workflow started it for an event of the actor since midnight UTC and it was not skipped,
    unless our comments show that it asked no model. Runs cannot be deleted without write access.

    `run` is the present one, 0 outside Actions, where nothing is counted; `workflow` is the path of its file;
    `now` is RFC 3339. At most two calls."""
    actor = request.actor
    if not run or not workflow:
        return ""
    if limit <= 0:
        raise RefusedError(
            f"{actor.login} cannot start runs here: the policy allows none for the tier {actor.tier}."
        )
    # GitHub names somebody as the actor of a schedule or a failed run who did not ask.
    scheduled = actor.tier is Tier.SCHEDULE
    try:
        if request.round:
            return _check(_of_rounds(github, actor, now, workflow), limit, actor)
        runs = github.workflow_runs(
            _file(workflow),
            event=request.trigger.event if scheduled and request.trigger else "",
            created=f">={now[:10]}",
            actor="" if scheduled else actor.login,
        )
        newest = [one for one in islice(runs, _MOST_A_DAY) if one.id != run]
        used = {str(one.id) for one in newest if one.conclusion != "skipped"}
        if len(used) >= limit:
            used -= unasked_runs(github, now)
    except GitHubError as error:
        if error.status not in (403, 404):
            raise
        # A maintainer could lift the limit anyway.
        if actor.tier is Tier.MAINTAINER:
            return f"note: {_UNCOUNTED}"
        raise RefusedError(f"Nothing was started, since {_UNCOUNTED}.") from error
    return _check(used, limit, actor)


def _check(used: Collection[str], limit: int, actor: Actor) -> str:
    if len(used) >= limit:
        words = f"{actor.login} has used today's {count_of(limit, 'run')} of the tier {actor.tier}."
        raise RefusedError(f"{words} The count starts again at 00:00 UTC.")
    return ""


def _of_rounds(github: GitHub, actor: Actor, now: str, workflow: str) -> set[str]:
    """Return the ids of today's runs with a round that the account armed. Wake-ups without a round are none."""
    today = islice(github.workflow_runs(_file(workflow), created=f">={now[:10]}"), _MOST_A_DAY)
    comments = islice(github.comments_of_all(f"{now[:10]}T00:00:00Z"), MOST)
    armed = (one for one in own_comments(github, comments) if one.ours and one.kind == FOLLOWED)
    rounds = {
        run for one in armed if one.number("by") == actor.id for run in one.fields.get("runs", "").split(".")
    }
    return rounds.intersection(str(one.id) for one in today)


def _file(workflow: str) -> str:
    return workflow.rpartition("/")[2]

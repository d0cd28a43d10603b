"""The runs that an account may start in a day. Those that asked no model do not count: `progress_comment.py` marks
them."""

from itertools import islice

from bot.contracts.formatting import count_of
from bot.contracts.request import Request, Tier
from bot.events.event_request import RefusedError
from bot.follow_up.record import rounds_of
from bot.github.client import GitHub
from bot.github.errors import HIDDEN, GitHubError
from bot.publish.thread.history import unasked_runs

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
        runs = github.workflow_runs(
            workflow,
            event=request.trigger.event if scheduled and request.trigger and not request.round else "",
            created=f">={now[:10]}",
            actor="" if scheduled or request.round else actor.login,
        )
        newest = [one for one in islice(runs, _MOST_A_DAY) if one.id != run]
        used = {str(one.id) for one in newest if one.conclusion != "skipped"}
        if request.round:
            used &= rounds_of(github, actor.id, now)
        elif len(used) >= limit:
            used -= unasked_runs(github, now)
    except GitHubError as error:
        if error.status not in HIDDEN:
            raise
        # A maintainer could lift the limit anyway.
        if actor.tier is Tier.MAINTAINER:
            return f"note: {_UNCOUNTED}"
        raise RefusedError(f"Nothing was started, since {_UNCOUNTED}.") from error
    if len(used) >= limit:
        words = f"{actor.login} has used today's {count_of(limit, 'run')} of the tier {actor.tier}."
        raise RefusedError(f"{words} The count starts again at 00:00 UTC.")
    return ""

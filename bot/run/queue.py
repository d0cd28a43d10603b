"""At the start of a run: tell those whose commands GitHub's queue dropped, and close what dead runs left open.

The decision is `bot.run.dropped`; here GitHub is asked and told, which costs nothing where there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.contracts.request import Actor, Request
from bot.contracts.threads import CommentData
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.intake.admission import Admission
from bot.intake.who import tier_of
from bot.publish.markers import PROGRESS, mark, marked
from bot.publish.thread import Place, put_comment
from bot.run.dropped import DROPPED, Dropped, dropped, has_other_commands, left_open, words
from bot.run.overheard import Overheard

Say = Callable[[str], None]


def tell_of_dropped(
    host: Host, reader: Overheard, request: Request, place: Place, admission: Admission, watch: Say
) -> None:
    """Look through what was read of the thread. Nothing is raised: the request itself matters more."""
    if request.thread is None or not place.key.isdecimal():
        return
    asking = int(place.key)
    heard = sorted(reader.heard.values(), key=lambda comment: comment.id)
    if not has_other_commands(heard, asking):
        return
    try:
        me = host.me()
        for comment, fields in left_open(heard, asking, me):
            _close(host, place, comment, fields)
        text = words(dropped(heard, asking, me), request.thread.url, _may(reader, request, admission))
        if text:
            put_comment(host, place, DROPPED, text)
    except GitHubError as error:
        watch(f"note: what the queue dropped could not be told: {error}")


def _may(reader: Overheard, request: Request, admission: Admission) -> Callable[[Dropped], bool]:
    def may(one: Dropped) -> bool:
        author = one.comment
        permission = reader.permission(request.repository, author.author)
        if permission.user_id != author.author_id or permission.kind != "User":
            return False
        return admission.permits(
            Actor(author.author, author.author_id, tier_of(permission)), one.command.verb
        )

    return may


def _close(host: Host, place: Place, comment: CommentData, fields: dict[str, str]) -> None:
    """Our comment that says a run works on it, where that run is over."""
    run = host.workflow_run(place.repository, int(fields["run"]))
    if run.status != "completed":
        return
    text = (
        f"**Nothing more will come of this:** [its run]({run.url}) is over ({run.conclusion or 'without a result'}). "
        "`/agent retry` does it again."
    )
    body = marked(text, mark(PROGRESS, **{**fields, "state": "over"}))
    host.edit_comment(place.repository, place.number, comment.id, body)

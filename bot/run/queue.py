"""At the start of a run: tell those whose commands GitHub's queue dropped, and close what dead runs left open.

The decision is `bot.run.dropped`; here GitHub is asked and told, which costs nothing where there is nothing to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.contracts.request import Actor, Request
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import Account
from bot.intake.admission import Admission
from bot.intake.who import tier_of
from bot.publish.thread.comments import put_comment
from bot.publish.thread.markers import (
    ANSWER,
    FINISHED,
    PROGRESS,
    PUSHED,
    asking_comment,
    is_ours,
    mark,
    marked,
    read_mark,
)
from bot.publish.thread.place import Place
from bot.run.dropped import (
    DROPPED,
    TOLD,
    Asking,
    Dropped,
    Said,
    dropped,
    has_other_commands,
    left_open,
    said_in,
    told,
    words,
)
from bot.run.overheard import Overheard

Say = Callable[[str], None]


def tell_of_dropped(
    host: Host, reader: Overheard, request: Request, place: Place, admission: Admission, watch: Say
) -> None:
    """Look through what was read of the thread. Nothing is raised: the request itself matters more."""
    if request.thread is None or not asking_comment(place.key)[0]:
        return
    asking = Asking(place.key, place.since)
    said = said_in(reader.heard.values(), reader.threads)
    if not has_other_commands(said, asking):
        return
    try:
        me = host.me()
        for one, fields in left_open(said, asking, me):
            _close(host, place, one, fields)
        found = [one for one in dropped(said, asking, me) if _may(one, reader, request, admission)]
        if found:
            talk = replace(place, lines=0)
            put_comment(host, talk, DROPPED, words(found, request.thread.url), {TOLD: told(found)})
    except GitHubError as error:
        watch(f"note: what the queue dropped could not be told: {error}")


def result_of(reader: Overheard, place: Place, host: Host) -> str:
    """The address of our comment that says that this request is done, empty if there is none: GitHub may deliver an
    event twice, and people run jobs again. A label or a schedule may ask for the same thing again and means it."""
    if not asking_comment(place.key)[0]:
        return ""
    for comment in reader.heard.values():
        author = Account(comment.author, comment.author_id, comment.author_kind)
        for kind in (PROGRESS, ANSWER, PUSHED):
            fields = read_mark(comment.body, kind) or {}
            done = (fields.get("request"), fields.get("result")) == (place.key, FINISHED["result"])
            if done and is_ours(author, host.me(), kind):
                return f"{place.url}#issuecomment-{comment.id}"
    return ""


def _may(one: Dropped, reader: Overheard, request: Request, admission: Admission) -> bool:
    author = one.said.comment
    permission = reader.permission(request.repository, author.author)
    if permission.kind != "User" or (permission.user_id != author.author_id and not one.said.on_lines):
        return False
    actor = Actor(author.author, permission.user_id, tier_of(permission))
    return admission.permits(actor, one.command.verb)


def _close(host: Host, place: Place, one: Said, fields: dict[str, str]) -> None:
    """Our comment that says a run works on it, where that run is over."""
    run = host.workflow_run(place.repository, int(fields["run"]))
    if run.status != "completed":
        return
    text = (
        f"**Nothing more will come of this:** [its run]({run.url}) is over ({run.conclusion or 'without a result'}). "
        "`/agent retry` does it again."
    )
    if "queued" in fields:
        text = (
            f"**Not carried out:** [its run]({run.url}) was dropped or cancelled while it waited. Write the command "
            "again if it is still wanted."
        )
    body = marked(text, mark(PROGRESS, **{**fields, "state": "over"}))
    host.edit_comment(place.repository, place.number, one.comment.id, body)

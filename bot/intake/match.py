"""Whether a request is the one that an event makes: what a bundle says of it may have been written by anybody."""

from __future__ import annotations

from bot.contracts.request import Request
from bot.contracts.threads import ThreadReader
from bot.intake.command import Command
from bot.intake.event import CommentEvent, Event
from bot.intake.request import THIS_ISSUE, recognise
from bot.intake.who import Stranger, identify


def difference(request: Request, event: Event, threads: ThreadReader) -> str:
    """What of `request` is not so by `event` and by GitHub's word on who asked, in words; empty where all is.

    The thread's texts are not compared: nothing is decided by them. Raises what `threads` raises.
    """
    command = recognise(event)
    if not isinstance(event, CommentEvent) or not isinstance(command, Command):
        return "the event, which holds no command,"
    options = dict(command.options)
    thread, trigger = request.thread, request.trigger
    compared = (
        ("the repository", request.repository.lower(), event.repository.name.lower()),
        ("the thread", (thread.number, thread.url) if thread else None, (event.number, event.url)),
        (
            "the comment",
            (trigger.comment_id, trigger.url) if trigger else None,
            (event.comment_id, event.comment_url),
        ),
        ("the verb", request.verb, command.verb),
        ("the instruction", request.instruction, command.instruction or THIS_ISSUE),
        ("the options", request.options, options),
        ("the base branch", request.base_ref, options.get("base", event.repository.default_branch)),
    )
    for what, said, right in compared:
        if said != right:
            return what
    # Asked last, since it costs. Any bot will do here: whether this one may was decided when the run began.
    actor = identify(event, threads, (event.author.id,) if event.author else ())
    if isinstance(actor, Stranger) or actor != request.actor:
        return "who asked"
    return ""

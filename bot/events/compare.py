"""Compare the request in a bundle, which is untrusted, with the event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Request, Tier
from bot.events.admission import command_for, identify_actor
from bot.events.command import PLAN_HASH, Command
from bot.events.event_request import EventRequest, NoRequestError, RefusedError
from bot.events.resolve_request import complete_event_request, read_shown_command, resolve_instruction
from bot.events.thread_text import EditedTextError, ThreadTexts
from bot.verbs.registry import MODEL_VERBS

if TYPE_CHECKING:
    from bot.github.client import GitHub
    from bot.policy.values import Policy

NO_COMMAND = "the event, which holds no command,"


def difference(
    request: Request, event_request: EventRequest, reader: GitHub, load_policy: Callable[[], Policy]
) -> str:
    """Return what in `request` differs from the event and from GitHub's data on the actor, or empty.

    `load_policy` is called if the policy derives the command from the event. The thread's texts are not compared, since
    nothing depends on them. Whether a pull request still has the head in `request` is checked by the push. Raises what
    `reader` raises.
    """
    try:
        command = event_request.command or command_for(load_policy(), event_request)
    except NoRequestError:
        return NO_COMMAND
    if command.problem:
        return NO_COMMAND
    event_request = complete_event_request(event_request, reader)
    if request.instruction != resolve_instruction(command, event_request):
        # Something in the source is not shown, so what the run was given is not the source.
        named = event_request.number, event_request.trigger
        try:
            command = read_shown_command(event_request, command, ThreadTexts(reader, *named)) or command
        except EditedTextError:
            return "the text of the command, which was edited or deleted meanwhile,"
    rows = (*_command_rows(request, event_request, command), *_pull_rows(request, event_request, command))
    for label, actual, expected in rows:
        if actual != expected:
            return label
    # Last, since it calls the API. Any bot passes: whether this one may was decided when the run began.
    bots = (event_request.actor.id,) if event_request.actor else ()
    try:
        actor = identify_actor(event_request, reader, bots)
    except RefusedError:
        return "who asked"
    if actor != request.actor:
        return "who asked"
    if request.trusted_sha and actor.tier is not Tier.MAINTAINER:
        return "the head that is vouched for"
    return ""


Row = tuple[str, object, object]


def _command_rows(request: Request, event_request: EventRequest, command: Command) -> Iterator[Row]:
    thread, subject, trigger = request.thread, event_request.subject, request.trigger
    yield "the repository", request.repository.lower(), event_request.repository.name.lower()
    yield (
        "the thread",
        (thread.number, thread.url, thread.is_pull_request) if thread else None,
        (subject.number, subject.url, subject.is_pull_request) if subject else None,
    )
    yield "the comment", trigger and trigger._replace(at=""), event_request.trigger._replace(at="")
    yield "the verb", request.verb, command.verb
    yield "the instruction", request.instruction, resolve_instruction(command, event_request)
    yield "the options", request.options, dict(command.options)
    yield "the task", request.task, event_request.task
    named = command.options.get(PLAN_HASH)
    if request.plan is not None and named is not None:
        yield "the plan", request.plan.hash[: len(named)], named


def _pull_rows(request: Request, event_request: EventRequest, command: Command) -> Iterator[Row]:
    pull = request.pull
    expects_pull = event_request.on_pull and command.verb in MODEL_VERBS
    yield "the pull request", pull.number if pull else 0, event_request.number if expects_pull else 0
    if pull is None:
        base = command.options.get("base", event_request.repository.default_branch)
        yield "the base branch", request.base_ref, base
        yield "the head that is vouched for", request.trusted_sha, ""
        return
    yield "the base branch", request.base_ref, pull.base_ref
    if event_request.head_sha:
        yield "the head", pull.head_sha, event_request.head_sha
    head = event_request.subject.head if event_request.subject else None
    if head is not None:
        ends = (pull.head_ref, pull.head_repository.lower(), pull.base_ref)
        yield "the branch", ends, (head.ref, head.repository.lower(), head.base_ref)
    named = command.options.get("sha", "")
    yield "the head that is vouched for", request.trusted_sha, named
    if named:
        yield "the head that is vouched for", pull.head_sha, named
    yield "the review comment", _anchor_position(request.anchor), _anchor_position(event_request.anchor)


def _anchor_position(anchor: ReviewThread | None) -> tuple[int, int, int] | None:
    return (anchor.id, anchor.start_line, anchor.line) if anchor else None

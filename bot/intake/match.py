"""Whether a request is the one that an event makes: what a bundle says of it may have been written by anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bot.contracts.pulls import ReviewThread
from bot.contracts.request import Request, Tier, Trigger
from bot.contracts.threads import ThreadReader
from bot.intake.admission import Admission
from bot.intake.asked import NOTHING_GIVEN, Asked, Given, recognise
from bot.intake.command import PLAN, Command
from bot.intake.event import Event
from bot.intake.request import INSTANT, completed, instruction_of
from bot.intake.who import Stranger, identify


def difference(
    request: Request,
    event: Event,
    threads: ThreadReader,
    admission: Callable[[], Admission] | None = None,
    given: Given = NOTHING_GIVEN,
) -> str:
    """What of `request` is not so by `event` and by GitHub's word on who asked, in words; empty where all is.

    `admission` is called where the policy makes a command of the event, and without it such an event holds none.
    The thread's texts are not compared: nothing is decided by them. Whether a pull request still has the head that
    `request` names is for the push to say. Raises what `threads` raises.
    """
    asked = recognise(event, given)
    if not isinstance(asked, Asked):
        return "the event, which holds no command,"
    command = asked.command
    if command is None and admission is not None:
        made = admission().command_of(asked)
        command = made if isinstance(made, Command) else None
    if command is None or command.problem:
        return "the event, which holds no command,"
    asked = completed(asked, threads)
    compared = (*_of_command(request, asked, command), *_of_pull(request, asked, command))
    for what, said, right in compared:
        if said != right:
            return what
    # Asked last, since it costs. Any bot will do here: whether this one may was decided when the run began.
    actor = identify(asked, threads, (asked.asker.id,) if asked.asker else ())
    if isinstance(actor, Stranger) or actor != request.actor:
        return "who asked"
    if request.trusted_sha and actor.tier is not Tier.MAINTAINER:
        return "the head that is vouched for"
    return ""


Row = tuple[str, object, object]


def _of_command(request: Request, asked: Asked, command: Command) -> Iterator[Row]:
    thread, subject, trigger = request.thread, asked.subject, request.trigger
    yield "the repository", request.repository.lower(), asked.repository.name.lower()
    yield (
        "the thread",
        (thread.number, thread.url, thread.is_pull_request) if thread else None,
        (subject.number, subject.url, subject.is_pull_request) if subject else None,
    )
    yield "the comment", _without_time(trigger) if trigger else None, _without_time(asked.trigger)
    yield "the verb", request.verb, command.verb
    yield "the instruction", request.instruction, instruction_of(command, asked)
    yield "the options", request.options, dict(command.options)
    yield "the task", request.task, asked.task
    named = command.options.get(PLAN)
    if request.plan is not None and named is not None:
        yield "the plan", request.plan.hash[: len(named)], named


def _of_pull(request: Request, asked: Asked, command: Command) -> Iterator[Row]:
    pull = request.pull
    on_pull = asked.subject is not None and asked.subject.is_pull_request
    wanted = on_pull and command.verb not in INSTANT
    yield "the pull request", pull.number if pull else 0, asked.number if wanted else 0
    if pull is None:
        base = command.options.get("base", asked.repository.default_branch)
        yield "the base branch", request.base_ref, base
        yield "the head that is vouched for", request.trusted_sha, ""
        return
    yield "the base branch", request.base_ref, pull.base_ref
    if asked.head_sha:
        yield "the head", pull.head_sha, asked.head_sha
    head = asked.subject.head if asked.subject else None
    if head is not None:
        ends = (pull.head_ref, pull.head_repository.lower(), pull.base_ref)
        yield "the branch", ends, (head.ref, head.repository.lower(), head.base_ref)
    named = command.options.get("sha")
    yield "the head that is vouched for", request.trusted_sha, pull.head_sha if named else ""
    if named:
        yield "the head that is vouched for", pull.head_sha[: len(named)], named
    yield "the review comment", _place_of(request.anchor), _place_of(asked.anchor)


def _place_of(anchor: ReviewThread | None) -> tuple[int, int, int] | None:
    return (anchor.id, anchor.start_line, anchor.line) if anchor else None


def _without_time(trigger: Trigger) -> tuple[str, int, str]:
    return trigger.event, trigger.comment_id, trigger.url

"""`retry`, `continue` and `approve`: find the earlier request or plan by our own marks in the thread.

A mark names the comment with the earlier command, which is read again: a request is stored nowhere else. A `retry`
becomes the event that it would have been with the earlier command, and is checked like any event. The author of the
earlier command must still be allowed it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.contracts.errors import UsageError
from bot.contracts.request import Actor, Request, Thread, Tier
from bot.contracts.threads import CommentData, TextKind
from bot.events.admission import permits, tier_of
from bot.events.command import PLAN, Command, parse_command, with_options
from bot.events.event_request import (
    ISSUE_COMMENT,
    REVIEW,
    REVIEW_COMMENT,
    CommandSource,
    EventRequest,
    UsageRefusedError,
    is_own,
)
from bot.events.thread_text import MAX_COMMENT, TextCleaner, bare_thread
from bot.github.client import GitHub
from bot.policy.values import Policy
from bot.publish.plan_approval import continued_plan
from bot.publish.plan_comment import find_plan
from bot.publish.thread.history import comes_before, newest_requests, read_log
from bot.publish.thread.markers import PROGRESS, ThreadRef, asking_comment, trigger_key
from bot.publish.thread.own_comments import OwnComment
from bot.verbs.record import Earlier
from bot.verbs.registry import needs


def repeat_request(
    event_request: EventRequest,
    thread_ref: ThreadRef,
    thread: Thread,
    *,
    actor: Actor,
    github: GitHub,
    policy: Policy,
) -> tuple[EventRequest, str]:
    """Return the event request that a `retry` stands for and the key of the request that it repeats: the same comment
    by the same person, with the earlier command in it. Raises `RefusedError`."""
    if event_request.trigger.event not in (ISSUE_COMMENT, REVIEW_COMMENT, REVIEW):
        raise UsageRefusedError("Write `/agent retry` in the thread whose last request it repeats.")
    log = read_log(github, thread_ref.repository, thread)
    key = _last_request_key(thread_ref, log.answers, actor)
    comment = log.comments.get(key)
    if comment is None:
        raise UsageRefusedError(
            "The comment with the last request was deleted. Write what to do, as in `/agent fix this`."
        )
    if comment.edited and comment.updated_at >= thread_ref.since:
        raise UsageRefusedError(
            "The comment with the last request was edited after this command. Check it and write the command again."
        )
    command = None if is_own(comment.body) else parse_command(comment.body)
    if command is None or command.problem or needs(command.verb, Earlier.REQUEST):
        raise UsageRefusedError(
            "The comment with the last request no longer contains a command. Write what to do."
        )
    if not permits(policy, actor, command.verb):
        raise UsageRefusedError(
            f"{actor.login} may not use `/agent {command.verb}` here, which the repeated request needs."
        )
    _check_author(thread_ref.repository, comment, command.verb, github, policy)
    command = with_options(command, event_request.command.options if event_request.command else {})
    comment_id, on_lines = asking_comment(key)
    kind = TextKind.REVIEW_COMMENT if on_lines else TextKind.COMMENT
    source = CommandSource(kind, comment_id, comment.body)
    return replace(event_request, command=command, source=source), key


def _last_request_key(thread_ref: ThreadRef, answers: Sequence[OwnComment], actor: Actor) -> str:
    """Return the key of the newest earlier request that a run began, unless a later one by `actor` was refused: a
    refused request cannot be repeated."""
    last = next(iter(newest_requests(answers, thread_ref.key)), None)
    refused = [
        one for one in answers if one.number("refused") == actor.id and comes_before(one.key, thread_ref.key)
    ]
    if any(last is None or comes_before(last.key, one.key) for one in refused):
        raise UsageRefusedError(
            "Your last request here was refused, so there is nothing to repeat. Write the command that you want, as "
            "in `/agent fix this`."
        )
    if last is None:
        raise UsageRefusedError(
            "There is no earlier request in this thread. Write what to do, as in `/agent fix this`."
        )
    if not asking_comment(last.request_key)[0]:
        raise UsageRefusedError("No comment requested the last run here. Write what to do.")
    return last.request_key


def last_progress(thread_ref: ThreadRef, answers: Sequence[OwnComment]) -> OwnComment | None:
    """Return our newest progress comment for another request of the thread that a run has begun."""
    return next((one for one in newest_requests(answers, thread_ref.key) if "queued" not in one.fields), None)


def read_last_result(thread_ref: ThreadRef, thread: Thread, github: GitHub) -> tuple[Command | None, str]:
    """Return the command of the thread's last request, `None` if its comment holds none any more, and the text of our
    comment on how it ended, empty if it has not ended."""
    log = read_log(github, thread_ref.repository, thread)
    answers = [one for one in log.answers if one.ours]
    last = last_progress(thread_ref, answers)
    if last is None:
        return None, ""
    comment = log.comments.get(last.request_key)
    results = [one for one in answers if one.key == last.key and one.kind != PROGRESS]
    result = results[-1] if results else last
    command = parse_command(comment.body) if comment else None
    text = TextCleaner().text(result.text, MAX_COMMENT) if result.over else ""
    return None if command is None or command.problem else command, text


def request_behind(
    event_request: EventRequest, actor: Actor, github: GitHub, load_policy: Callable[[], Policy]
) -> EventRequest:
    """Return `event_request`, or for a `retry` the one that it stands for, to compare a request with its event. Raises
    `RefusedError`."""
    command, subject = event_request.command, event_request.subject
    if subject is None or command is None or not needs(command.verb, Earlier.REQUEST):
        return event_request
    key = trigger_key(event_request.trigger, event_request.head_sha)
    thread_ref = ThreadRef(event_request.repository.name, event_request.number, key, event_request.trigger.at)
    thread, policy = bare_thread(subject), load_policy()
    return repeat_request(event_request, thread_ref, thread, actor=actor, github=github, policy=policy)[0]


def continue_request(request: Request, thread_ref: ThreadRef, github: GitHub) -> Request:
    """Return `request` with the Actions run that it continues and, after an approval, the plan. Only the actor of that
    run or a maintainer may continue it. Raises `RefusedError`."""
    if request.thread is None:
        raise UsageRefusedError("`/agent continue` works only in a thread with an earlier request.")
    log = read_log(github, thread_ref.repository, request.thread)
    last = last_progress(thread_ref, log.answers)
    if last is None:
        raise UsageRefusedError("There is no run to continue in this thread. Start one with `/agent fix`.")
    if request.actor.tier is not Tier.MAINTAINER:
        comment = log.comments.get(last.request_key)
        if comment is None or comment.author.id != request.actor.id:
            raise UsageRefusedError(
                f"{request.actor.login} did not start the last run. Its starter, or a maintainer, can continue it."
            )
    try:
        plan = continued_plan(github, thread_ref, log)
    except UsageError as error:
        raise UsageRefusedError(str(error)) from error
    return request._replace(resumes=last.run, plan=plan)


def approve_request(request: Request, thread_ref: ThreadRef, github: GitHub) -> Request:
    """Return `request` with the very plan that it approves. Raises `RefusedError`."""
    if request.thread is None:
        raise UsageRefusedError("`/agent approve` is for the thread that the plan stands in.")
    try:
        return request._replace(plan=find_plan(github, thread_ref, request.options.get(PLAN, "")).plan)
    except UsageError as error:
        raise UsageRefusedError(str(error)) from error


def _check_author(repository: str, comment: CommentData, verb: str, github: GitHub, policy: Policy) -> None:
    author = comment.author
    permission = github.permission(repository, author.login)
    same = permission.user_id == author.id != 0 and permission.kind == "User"
    if not same or not permits(policy, Actor(author.login, author.id, tier_of(permission)), verb):
        raise UsageRefusedError(
            f"{author.login}, who requested it, may not use `/agent {verb}` here: write the command yourself."
        )

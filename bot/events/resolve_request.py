"""Turn an `EventRequest` into a `Request`, and compare the request in a bundle, which is untrusted, with the event.

Steps are in order of cost and trust: the policy, the actor, the actor's rights, and only then the text and the thread.
A stranger learns only that they have no access.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from bot.contracts.pulls import Comment, ReviewThread
from bot.contracts.request import Actor, Request, Tier
from bot.events.admission import LOCKED, check_access, identify_actor, permits, place_problem
from bot.events.command import AT_A_THREAD, AT_LINES, PLAN_HASH, Command, shown_command
from bot.events.event_request import Cause, EventRequest, NoRequestError, RefusedError, UsageRefusedError
from bot.events.pull import read_target_pull
from bot.events.pull_context import with_pull_context
from bot.events.thread_text import (
    MAX_COMMENT,
    EditedTextError,
    TextCleaner,
    ThreadTexts,
    bare_thread,
    build_thread,
)
from bot.events.triggers import command_for
from bot.verbs.registry import INSTANT, MODEL_VERBS, VERBS

if TYPE_CHECKING:
    from github.Commit import Commit

    from bot.github.client import GitHub
    from bot.policy.settings import Policy


def build_request(event_request: EventRequest, reader: GitHub, policy: Policy) -> Request:
    """Build the request of a run. Raises `NoRequestError` and `RefusedError` if there is none, and `AgentError` if
    GitHub cannot be read."""
    _check_unlocked(event_request)
    command = command_for(policy, event_request)
    actor = identify_actor(event_request, reader, policy.verbs_of_bots)
    is_insider = actor.tier in (Tier.MAINTAINER, Tier.CONTRIBUTOR)
    if event_request.cause is Cause.REPLY and not (is_insider and permits(policy, actor, command.verb)):
        # A reply without `/agent` may be meant for people, so nobody is told that it starts nothing.
        raise NoRequestError(f"{actor.login} may not use `/agent {command.verb}` here")
    try:
        check_access(command, actor, event_request, policy)
        event_request = complete_event_request(event_request, reader)
        _check_unlocked(event_request)
        if problem := place_problem(command, event_request):
            raise UsageRefusedError(problem)
        return _build(event_request, command, actor, reader)
    except RefusedError as refusal:
        # A bot gets no answer, since it might answer back, nor does an account that wrote no command.
        is_person = actor.tier is not Tier.BOT and event_request.tier is None
        refusal.actor = actor
        by_words = event_request.cause in (Cause.COMMAND, Cause.REPLY)
        refusal.in_thread &= is_person and by_words and event_request.number > 0
        raise


def _check_unlocked(event_request: EventRequest) -> None:
    if event_request.subject is not None and event_request.subject.locked:
        raise RefusedError(LOCKED, in_thread=False)


def with_update(event_request: EventRequest, reader: GitHub, policy: Policy) -> EventRequest:
    """Return a failed run on a pull request of one of these bots as one of a dependency update. Who the event says
    caused the run does not matter, since anybody can repeat it: author, head and commits are GitHub's word. Raises
    `NoRequestError` if others committed to it."""
    authors = policy.triggers.failed_runs.authors
    if event_request.cause is not Cause.FAILED_RUN or not authors:
        return event_request
    number, me = event_request.number, reader.me
    author = reader.issue(number).author.id
    if author not in authors:
        return event_request
    ours = {author, *([me.id] if me else [])}
    if not all(_is_by(ours, one) for one in reader.pull_commits(number)):
        raise NoRequestError(f"#{number} has commits of other accounts")
    return event_request._replace(cause=Cause.FAILED_UPDATE)


def _is_by(accounts: Collection[int], one: Commit) -> bool:
    """Whether one of the accounts made the commit, and nobody amended it: of one made through its API, GitHub itself is
    the committer."""
    author, committer, named = one.author, one.committer, one.commit.committer
    by_github = bool(named and named.email and named.email.startswith("noreply@"))
    return bool(author and author.id in accounts and (by_github or (committer and committer.id in accounts)))


def complete_event_request(event_request: EventRequest, reader: GitHub) -> EventRequest:
    """Add what the payload does not hold: the thread for a number, the repository's data."""
    if not event_request.repository.clone_url:
        event_request = event_request._replace(repository=reader.repository)
    if event_request.subject is None and event_request.number:
        issue = reader.issue(event_request.number)
        # Nobody asks on a thread of their own by its number.
        subject = issue._replace(author=issue.author._replace(id=0))
        event_request = event_request._replace(subject=subject)
    return event_request


def _build(event_request: EventRequest, command: Command, actor: Actor, reader: GitHub) -> Request:
    subject, repository = event_request.subject, event_request.repository
    request = Request(
        verb=command.verb,
        instruction=resolve_instruction(command, event_request),
        actor=actor,
        repository=repository.name,
        base_ref=command.options.get("base", repository.default_branch),
        clone_url=repository.clone_url,
        trigger=event_request.trigger,
        options=dict(command.options),
        task=event_request.task,
    )
    if subject is None:
        return request
    if command.verb in INSTANT:
        return request._replace(thread=bare_thread(subject))
    trigger, sha = event_request.trigger, command.options.get("sha", "")
    texts = ThreadTexts(reader, event_request.number, trigger)
    pull = None
    if subject.is_pull_request:
        pull, note = read_target_pull(event_request, command.verb, sha, actor, reader)
        texts.missing += filter(None, [note])
    comments = reader.newest_comments(texts.number)
    request = request._replace(thread=build_thread(subject, comments, texts))
    if pull is not None:
        request = request._replace(
            base_ref=pull.base_ref, pull=pull, trusted_sha=sha, anchor=event_request.anchor
        )
        failures_of = pull.head_sha if VERBS[command.verb].reads_failures else ""
        request = with_pull_context(request, texts, failures_of)
    return _with_shown_command(request, event_request, command, texts)


def _with_shown_command(
    request: Request, event_request: EventRequest, command: Command, texts: ThreadTexts
) -> Request:
    """Return `request` with the instruction that people see. What its author quoted is the thread's last comment."""
    visible_command = read_shown_command(event_request, command, texts)
    if visible_command is None:
        raise UsageRefusedError(
            "What GitHub shows of this text is not the command that its source holds. Write the command as plain text, "
            "in the first line."
        )
    request = request._replace(instruction=resolve_instruction(visible_command, event_request))
    if not visible_command.quoted or request.thread is None:
        return request
    at, quoted = event_request.trigger.at, TextCleaner().text(visible_command.quoted, MAX_COMMENT)
    author = f"others, quoted by {request.actor.login}"
    comment = Comment(event_request.trigger.comment_id, author, quoted, at, at)
    return request._replace(thread=request.thread._replace(comments=(*request.thread.comments, comment)))


def read_shown_command(event_request: EventRequest, command: Command, texts: ThreadTexts) -> Command | None:
    """Return `command` as GitHub shows it, `None` if it shows no such command. Raises `EditedTextError`."""
    source = event_request.source
    if source is None:
        return command
    visible_text = texts.page(source.kind, source.identity, source.body).text
    return shown_command(command, source.prefix + source.body, source.prefix + visible_text)


def resolve_instruction(command: Command, event_request: EventRequest) -> str | None:
    """Return the instruction of a command; `None` if it only points at where it stands."""
    words = command.instruction.strip(" .!\n").lower()
    if event_request.anchor is not None:
        return None if words in AT_LINES else command.instruction
    if event_request.subject is not None:
        return None if words in AT_A_THREAD else command.instruction
    return command.instruction or None


def difference(
    request: Request, event_request: EventRequest, reader: GitHub, load_policy: Callable[[], Policy]
) -> str:
    """Return what in `request` differs from the event and from GitHub's data on the actor, or empty.

    `load_policy` is called if the policy derives the command from the event. The thread's texts are not compared, since
    nothing depends on them. Whether a pull request still has the head in `request` is checked by the push. Raises what
    `reader` raises.
    """
    command = event_request.command
    with suppress(NoRequestError):
        command = command or command_for(load_policy(), event_request)
    if command is None or command.problem:
        return "the event, which holds no command,"
    event_request = complete_event_request(event_request, reader)
    if request.instruction != resolve_instruction(command, event_request):
        # Something in the source is not shown, so what the run was given is not the source.
        named = event_request.number, event_request.trigger
        try:
            command = read_shown_command(event_request, command, ThreadTexts(reader, *named)) or command
        except EditedTextError:
            return "the text of the command, which was edited or deleted meanwhile,"
    for label, actual, expected in _rows(request, event_request, command):
        if actual != expected:
            return label
    # Last, since it calls the API. Any bot passes: whether this one may was decided when the run began.
    bots, actor = (event_request.actor.id,) if event_request.actor else (), None
    with suppress(RefusedError):
        actor = identify_actor(event_request, reader, bots)
    if actor != request.actor:
        return "who asked"
    is_vouched = not request.trusted_sha or request.actor.tier is Tier.MAINTAINER
    return "" if is_vouched else "the head that is vouched for"


def _rows(
    request: Request, event_request: EventRequest, command: Command
) -> Iterator[tuple[str, object, object]]:
    """Yield what is compared: its name, what it is in `request`, and what it should be."""
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
    yield "the round", request.round, event_request.detail if event_request.cause is Cause.FOLLOW_UP else ""
    named = command.options.get(PLAN_HASH)
    if request.plan is not None and named is not None:
        yield "the plan", request.plan.hash[: len(named)], named
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
    vouched = command.options.get("sha", "")
    yield "the head that is vouched for", request.trusted_sha, vouched
    if vouched:
        yield "the head that is vouched for", pull.head_sha, vouched
    yield "the review comment", _anchor_position(request.anchor), _anchor_position(event_request.anchor)


def _anchor_position(anchor: ReviewThread | None) -> tuple[int, int, int] | None:
    return (anchor.id, anchor.start_line, anchor.line) if anchor else None

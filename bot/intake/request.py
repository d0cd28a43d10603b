"""From an event to what to do about it: a `Request`, a `Refusal`, or `Ignored` with a word why.

The order is that of cost and of trust: what the payload alone decides, then the policy, then who is asking, what
they may, and only then what they wrote and the thread around it. Strangers learn nothing but that they may not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.contracts.errors import ExitCode
from bot.contracts.request import POLICY_FILE, Actor, Request, Thread, Tier, Verb
from bot.contracts.threads import IssueData, PullReader, ThreadReader
from bot.intake.admission import Admission
from bot.intake.answers import Ignored, Refusal, no_access
from bot.intake.asked import NOTHING_GIVEN, Asked, Cause, Given, recognise
from bot.intake.command import Command
from bot.intake.context import bare_thread, build_thread
from bot.intake.event import Event, Subject
from bot.intake.payload import Account
from bot.intake.pull import PullAsked, read_pull
from bot.intake.pull_context import PullContext, read_pull_context
from bot.intake.who import Stranger, identify

__all__ = [
    "Admission",
    "Given",
    "Ignored",
    "Refusal",
    "build_request",
    "recognise",
]

THIS_ISSUE = "this issue"
THIS_PULL = "this pull request"
THESE_LINES = "this"
MOST_TRIES = 2
"""How often a failed run may set off a fix of one head."""

INSTANT = (Verb.STOP, Verb.STATUS, Verb.HELP)
"""Answered without a model: nothing of the thread needs to be read for them."""

_LOCKED = Refusal("The conversation is locked, so no comment can be posted in it.", said=False)
_WITH_FAILURES = (Verb.FIX, Verb.CONTINUE, Verb.RETRY)
_FOR_EVERYBODY = (Verb.HELP, Verb.STATUS)

Tries = Callable[[str, int, str], int]
"""How many fixes failed runs have set off already: of a repository's pull request (number), at a head (SHA)."""


def build_request(
    event: Event,
    threads: PullReader,
    admission: Callable[[], Admission],
    *,
    given: Given = NOTHING_GIVEN,
    tries: Tries | None = None,
) -> Request | Refusal | Ignored:
    """What to do about `event`. `admission` is called once something is asked, since reading it may cost.

    Without `tries` no failed run sets anything off. Raises an `AgentError` where GitHub or the policy cannot be
    read.
    """
    asked = recognise(event, given)
    if isinstance(asked, Ignored):
        return asked
    if _locked(asked):
        return _LOCKED
    admitted = admission()
    command = admitted.command_of(asked)
    if isinstance(command, Ignored):
        return command
    actor = identify(asked, threads, admitted.bots)
    if isinstance(actor, Stranger):
        return Refusal(actor.reason, said=False)
    refusal = _refuse(command, actor, asked, admitted)
    if refusal is not None:
        return _quiet(refusal, actor, asked)
    if asked.cause is Cause.FAILED_RUN and _tried_enough(asked, tries):
        return Ignored(f"Nothing to do: the failed run's head was worked on {MOST_TRIES} times already.")
    asked = completed(asked, threads)
    if _locked(asked):
        return _LOCKED
    refusal = misplaced(command, asked)
    if refusal is not None:
        return _quiet(refusal, actor, asked)
    request = _request(asked, command, actor, threads)
    return _quiet(request, actor, asked) if isinstance(request, Refusal) else request


def _refuse(command: Command, actor: Actor, asked: Asked, admission: Admission) -> Refusal | None:
    own = _on_own_thread(asked)

    def may(verb: Verb) -> bool:
        return admission.permits(actor, verb, on_own_thread=own)

    wants = None if command.problem else command.verb
    if not any(may(verb) for verb in Verb if verb not in _FOR_EVERYBODY) and not (wants and may(wants)):
        on_pull = asked.subject is not None and asked.subject.is_pull_request
        verb = wants if wants and wants not in INSTANT else Verb.FIX
        reason = no_access(actor.login, verb, on_pull=on_pull, policy_file=POLICY_FILE)
        return Refusal(reason, said=not command.missed)
    if command.problem:
        return Refusal(command.problem, said=True, exit_code=ExitCode.USAGE)
    if not may(command.verb):
        return Refusal(
            f"{actor.login} may not use `/agent {command.verb}` here: "
            f"this repository's policy does not allow it for the tier {actor.tier}.",
            said=True,
        )
    reason = admission.out_of_bounds(command.options)
    return Refusal(reason, said=True, exit_code=ExitCode.USAGE) if reason else None


def _on_own_thread(asked: Asked) -> bool:
    subject, asker = asked.subject, asked.asker
    return (
        subject is not None
        and asker is not None
        and subject.author is not None
        and (subject.author.id == asker.id)
    )


def _quiet(refusal: Refusal, actor: Actor, asked: Asked) -> Refusal:
    """A bot is not answered, since it might answer; nor is anybody who gave no command."""
    said = refusal.said and actor.tier is not Tier.BOT and asked.cause is Cause.COMMAND and asked.number > 0
    return replace(refusal, said=said and asked.tier is None)


def _locked(asked: Asked) -> bool:
    return asked.subject is not None and asked.subject.locked


def completed(asked: Asked, threads: ThreadReader) -> Asked:
    """`asked` with what the payload does not hold: a thread that is only named, a repository that is not."""
    if not asked.repository.clone_url:
        asked = replace(asked, repository=threads.repository(asked.repository.name))
    if asked.subject is None and asked.number:
        issue = threads.issue(asked.repository.name, asked.number)
        asked = replace(asked, subject=_subject_of(issue))
    return asked


def _subject_of(issue: IssueData) -> Subject:
    return Subject(
        number=issue.number,
        title=issue.title,
        body=issue.body,
        author=Account(issue.author, 0, issue.author_kind),
        url=issue.url,
        updated_at=issue.updated_at,
        is_pull_request=issue.is_pull_request,
        locked=issue.locked,
    )


def misplaced(command: Command, asked: Asked) -> Refusal | None:
    """Why a command means nothing where it was given, or `None`."""
    on_pull = asked.subject is not None and asked.subject.is_pull_request
    reason = ""
    if on_pull and "base" in command.options:
        reason = "`--base` means nothing under a pull request: what comes of it is meant for the branch it goes to."
    elif not on_pull and command.verb is Verb.REVIEW:
        reason = "`/agent review` looks at a pull request, and this is none."
    elif not on_pull and "sha" in command.options:
        reason = "`--sha` names the head of a pull request, and this is none."
    elif asked.subject is None and command.verb not in (Verb.FIX, Verb.EXPLAIN, Verb.PLAN):
        reason = f"`/agent {command.verb}` needs an issue or a pull request to be about: give its `number`."
    return Refusal(reason, said=True, exit_code=ExitCode.USAGE) if reason else None


def _tried_enough(asked: Asked, tries: Tries | None) -> bool:
    return tries is None or tries(asked.repository.name, asked.number, asked.head_sha) >= MOST_TRIES


def _request(asked: Asked, command: Command, actor: Actor, reader: PullReader) -> Request | Refusal | Ignored:
    subject, repository = asked.subject, asked.repository
    request = Request(
        verb=command.verb,
        instruction=instruction_of(command, asked),
        actor=actor,
        repository=repository.name,
        base_ref=command.options.get("base", repository.default_branch),
        clone_url=repository.clone_url,
        trigger=asked.trigger,
        options=dict(command.options),
        task=asked.task,
    )
    if subject is None:
        return request
    if command.verb in INSTANT:
        return replace(request, thread=bare_thread(subject))
    if not subject.is_pull_request:
        return replace(request, thread=_thread(asked, subject, reader))
    found = read_pull(asked, command.verb, command.options.get("sha", ""), actor, reader)
    if isinstance(found, Refusal | Ignored):
        return found
    return _on_pull(replace(request, thread=_thread(asked, subject, reader)), asked, found, reader)


def instruction_of(command: Command, asked: Asked) -> str:
    """What was asked for in words; "this issue" and the like where there are none."""
    if command.instruction:
        return command.instruction
    if asked.anchor is not None:
        return THESE_LINES
    if asked.subject is None:
        return f"the task {asked.task}" if asked.task else "this repository"
    return THIS_PULL if asked.subject.is_pull_request else THIS_ISSUE


def _thread(asked: Asked, subject: Subject, reader: ThreadReader) -> Thread:
    return build_thread(subject, asked.trigger, reader.newest_comments(asked.repository.name, asked.number))


def _on_pull(request: Request, asked: Asked, found: PullAsked, reader: PullReader) -> Request:
    assert request.thread is not None
    context = read_pull_context(
        reader,
        request.repository,
        asked.number,
        asked.trigger,
        asked.anchor,
        head_sha=found.pull.head_sha,
        with_failures=request.verb in _WITH_FAILURES,
    )
    return replace(
        request,
        base_ref=found.pull.base_ref,
        pull=found.pull,
        trusted_sha=found.trusted_sha,
        thread=_with_words(request.thread, found, context),
        anchor=context.anchor,
        unresolved=context.unresolved,
        failures=context.failures,
    )


def _with_words(thread: Thread, found: PullAsked, context: PullContext) -> Thread:
    comments = sorted((*thread.comments, *context.reviews), key=lambda one: one.created_at)
    left_out = (*thread.left_out, *found.notes, *context.left_out)
    return replace(thread, comments=tuple(comments), left_out=left_out)

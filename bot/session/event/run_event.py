"""`slash-agent run`: handle one GitHub event, from payload to answer or bundle.

Refusals come first: before any checkout, and before a model or a sandbox is needed.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from bot.contracts.errors import AgentError, ExitCode
from bot.contracts.request import Actor, Request, Tier
from bot.events.admission import refused_fields
from bot.events.command import PLAN_HASH
from bot.events.event_request import REVIEW_COMMENT, Cause, NoRequestError, RefusedError
from bot.events.read_event import read_event
from bot.events.resolve_request import build_request, with_update
from bot.events.triggers import MOST_TRIES
from bot.github.errors import GitHubError
from bot.github.tokens import Access
from bot.policy.load import load_policy
from bot.policy.policy_error import PolicyError
from bot.publish.thread.markers import ANSWER, REFUSED, tries_key
from bot.session.context.github_env import read_github_environment
from bot.session.event.event_context import (
    EventContext,
    EventOptions,
    EventResult,
    Say,
    connected,
    event_thread_ref,
)
from bot.session.event.instant_answers import answer_outsider, report_no_result
from bot.session.event.progress_comment import error_text, post_answer
from bot.session.event.reply_as_command import check_reply
from bot.verbs.record import Answer, Earlier
from bot.verbs.registry import DEFAULT, INSTANT, VERBS, needs


def run_event(
    options: EventOptions,
    environment: Mapping[str, str],
    say: Say,
    mask: Say = lambda secret: None,
    pass_on: Say = lambda reason: None,
) -> EventResult:
    """Handle one event. `say` gets the lines of the job's log, `mask` each secret that is created, `pass_on` the reason
    why nothing came of the event, if another job of the workflow has to report it."""
    where = read_github_environment(environment)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        inputs = where.inputs(options.instruction, options.task, now)
        event_request = read_event(options.name, options.payload, inputs)
    except NoRequestError as error:
        return EventResult(ExitCode.DONE, error.reason)
    name, command, access = event_request.repository.name, event_request.command, Access.COMMENT
    if event_request.cause is Cause.FOLLOW_UP:
        access = Access.READ if environment.get("SLASH_AGENT_MODE") == "run" else Access.FOLLOW
    elif not event_request.number:
        access = Access.READ  # without a thread there is nobody to answer
    elif command and VERBS[command.verb].answer in (Answer.CANCELLATION, Answer.FOLLOWING):
        access = Access.STOP
    where, github = connected(where, name, access, mask, say if options.dry_run else None)
    if event_request.repository.clone_url:  # a schedule's payload has no more than its name
        github.repository = event_request.repository
    context = EventContext(
        options=options,
        environment={**environment, **where.minted_secrets},
        where=where,
        github=github,
        event_request=event_request,
        thread_ref=event_thread_ref(event_request, github, where.run),
        now=now,
        say=say,
        pass_on=pass_on,
    )
    return _handle(context)


def _handle(context: EventContext) -> EventResult:
    """Check who asks, then answer, refuse, or run the request. An event that ends without a result is reported."""
    request = None
    try:
        if context.event_request.cause is Cause.REPLY and context.policy.replies:
            check_reply(context)
        if context.event_request.cause is Cause.FOLLOW_UP:
            from bot.session.event.follow import follow  # most events have nothing to follow

            return follow(context)
        context.event_request = with_update(context.event_request, context.github, context.policy)
        request = build_request(context.event_request, context.github, context.policy)
        request = _decide(context, request)
        if request.verb in INSTANT:
            return _answer(context, request)
        from bot.session.event.run_request import run_request

        return run_request(context, request._replace(policy_file=context.where.policy_file))
    except NoRequestError as error:
        if error.unmet:
            report_no_result(context, error.reason)
        return EventResult(ExitCode.DONE, error.reason)
    except RefusedError as refusal:
        return _refuse(context, refusal, request.actor if request else refusal.actor)
    except AgentError as error:
        _report_error(context, error, is_permitted=request is not None)
        raise


def _decide(context: EventContext, request: Request) -> Request:
    """Return what to run. A `retry` is replaced by the request that it repeats, a `continue` has its last run and an
    `approve` the very plan that it names."""
    event_request = context.event_request
    if event_request.cause in MOST_TRIES:
        from bot.follow_up.record import count_rounds, read_record

        github, number = context.github, event_request.number
        record = read_record(github, number, (one.commit.message for one in github.pull_commits(number)))
        rounds = count_rounds(github, number, record.spent).rounds
        tries = sum(key.startswith(tries_key(event_request.head_sha)) for key in record.tries)
        if tries >= MOST_TRIES[event_request.cause] or rounds >= context.policy.rounds.fix:
            why = (
                f"the failed run's head was worked on {tries} times already, and its pull request {rounds} times; "
                f"`/agent {DEFAULT}` tries once more"
            )
            raise NoRequestError(why, unmet=True)
    if VERBS[request.verb].earlier is None:
        return request
    from bot.publish.approval import find_plan
    from bot.session.event.earlier_run import continue_request, repeat_request

    github = context.github
    if needs(request.verb, Earlier.REQUEST):
        repeated, key = repeat_request(event_request, context.thread_ref, request.actor, context.policy)
        context.thread_ref = context.thread_ref._replace(of=key)
        request = build_request(repeated, github, context.policy)
    if needs(request.verb, Earlier.RUN):
        return continue_request(request, context.thread_ref)
    if needs(request.verb, Earlier.PLAN):
        approved = find_plan(context.thread_ref, request.options.get(PLAN_HASH, ""))
        return request._replace(plan=approved.plan)
    return request


def _report_error(context: EventContext, error: AgentError, *, is_permitted: bool) -> None:
    """There is no bundle that could tell of an error, and nobody must wait for an answer that never comes. To people
    who are not known to be permitted, nothing is written but over the progress comment that the action began."""
    text = error_text(str(error), context.where.run_url)
    try:
        if isinstance(error, PolicyError):
            # Only people who may mend the file see what is wrong with it.
            build_request(context.event_request, context.github, load_policy(None))
            is_permitted = True
        if context.event_request.cause not in (Cause.COMMAND, Cause.REPLY):
            report_no_result(context, str(error), failed=True)
        elif is_permitted:
            post_answer(context, text)
        else:
            context.thread_ref.close_progress(text)
    except (NoRequestError, RefusedError):
        return
    except GitHubError as failure:
        if not isinstance(error, GitHubError):
            context.say(f"note: the error could not be reported: {failure}")


def _refuse(context: EventContext, refusal: RefusedError, actor: Actor | None) -> EventResult:
    tier = actor.tier if actor else None
    reason, command, trigger = str(refusal), context.event_request.command, context.event_request.trigger
    if context.event_request.cause not in (Cause.COMMAND, Cause.REPLY):
        report_no_result(context, reason)
    elif refusal.in_thread and actor and tier is Tier.OUTSIDER:
        answer_outsider(context, actor.id, REFUSED, lambda: reason)
    elif refusal.in_thread and tier is not Tier.BOT:  # it might answer back
        if command is not None and command.near_miss and trigger.comment_id:
            source, on_lines = trigger.comment_id, trigger.event == REVIEW_COMMENT
            with context.noting("no reaction to the comment"):
                context.github.add_reaction(source, "confused", on_lines)
        post_answer(context, reason, refused_fields(context.event_request))
    return EventResult(refusal.exit_code, reason)


def _answer(context: EventContext, request: Request) -> EventResult:
    """`help`, `status`, `stop`."""
    from bot.session.event.instant_answers import answer

    if request.actor.tier is Tier.OUTSIDER:
        is_posted = answer_outsider(context, request.actor.id, ANSWER, lambda: answer(context, request))
        return EventResult(ExitCode.DONE, "Answered." if is_posted else "Not answered.", answered=is_posted)
    text = answer(context, request)
    context.thread_ref.put(ANSWER, text)
    return EventResult(ExitCode.DONE, text.partition("\n")[0].replace("**", ""), answered=True)

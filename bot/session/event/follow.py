"""Follow pull requests of the bot's own: for an event about one of them, or on a schedule for all of them. At most one
round with a model is run in a job. With the mode `follow` a job only decides and begins the round; one with the mode
`run`, whose token only reads, works on the round that the record says is begun.
"""

from collections.abc import Iterator
from itertools import islice

from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.request import Tier
from bot.environment.prepared import commit_to_prepare
from bot.events.event_request import EventRequest, NoRequestError, RefusedError
from bot.events.resolve_request import build_request
from bot.follow_up.act import Actions
from bot.follow_up.decide import decide
from bot.follow_up.read import read_followed
from bot.follow_up.record import Record, count_rounds, read_record
from bot.follow_up.situation import StartRound
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.stdlib_api import Api
from bot.github.values import Account
from bot.policy.tiers_and_budget import least
from bot.publish.markdown import unescaped
from bot.publish.own_pulls import own_pull
from bot.session.event.event_context import EventContext, EventResult

_MOST_PULLS = 300


def follow(context: EventContext) -> EventResult:
    """Take the next step of the event's pull request, or of all that are followed. Raises `NoRequestError` if that of
    the event is not."""
    mode, chosen = context.environment.get("SLASH_AGENT_MODE"), None
    if mode == "run":
        number, record = begun_round(context.github, context.event_request.number, context.where.run)
    else:
        chosen = _choose(context)
        number, record = (chosen.number, chosen.record) if chosen else (0, Record())
    if not number:
        return EventResult(ExitCode.DONE, "No pull request needs a round.", answered=True)
    if mode == "follow":
        where, round_event = context.where, round_request(context.event_request, number, record)
        commit = commit_to_prepare(round_event, Api(where.api_url, where.token), context.environment)
        reason = f"The next job runs a round for #{number}."
        return EventResult(ExitCode.DONE, reason, answered=True, pull=number, commit=commit)
    try:
        return _run_round(context, number, record)
    except (RefusedError, UsageError) as error:
        (chosen.stop if chosen else context.pass_on)(str(error))
        return EventResult(ExitCode.DONE, str(error), answered=True)


def _choose(context: EventContext) -> Actions | None:
    """Take the next step of each pull request, and return the round that this job is to run."""
    number, chosen = context.event_request.number, None
    for each in [number] if number else _own_open(context.github):
        try:
            chosen = _next_step(context, each, chosen)
        except NoRequestError:
            if number:
                raise
        except GitHubError as error:
            if number or error.failure.rate_limited:
                raise
            context.say(f"note: #{each} is left until the next time: {error}")
    return chosen


def begun_round(github: GitHub, number: int, run: int) -> tuple[int, Record]:
    """Return the pull request on which the Actions run has begun a round, and what its comment says; 0 for none. Of all
    of ours without a `number`."""
    records = ((one, read_record(github, one)) for one in ([number] if number else _own_open(github)))
    return next(((one, record) for one, record in records if run and record.run == run), (0, Record()))


def _next_step(context: EventContext, number: int, chosen: Actions | None) -> Actions | None:
    """Take the next step of one pull request. Return the round that this job is to run, `chosen` if there is one."""
    actions = _actions(context, number)
    step = decide(actions.now, actions.limits)
    if isinstance(step, StartRound):
        spent = count_rounds(context.github, number, actions.now.spent)
        step = decide(actions.now._replace(spent=spent), actions.limits)
    if isinstance(step, StartRound) and chosen is not None:
        context.say(f"#{number} is next: one round at a time")
        return chosen
    actions.act(step)
    return actions if isinstance(step, StartRound) else chosen


def _own_open(github: GitHub) -> Iterator[int]:
    for pull in islice(github.pulls(), _MOST_PULLS):
        if own_pull(pull, github.me):
            yield pull.number


def _actions(context: EventContext, number: int) -> Actions:
    """Return what may be done for a pull request. Raises `NoRequestError` if it is not followed or not ours."""
    github, policy = context.github, context.policy
    followed = read_followed(github, number, policy.rounds, policy.identity)
    if policy.follow_up is None and followed.record.comment is None:
        raise NoRequestError(f"the policy has no `follow_up`, and nobody wrote `/agent follow` on #{number}")
    actions = Actions(github, followed, policy.rounds, context.where.run, context.say)
    if followed.situation.running and github.active_run(followed.record.run) is None:
        actions.lose_round()
    return actions


def round_request(event_request: EventRequest, number: int, record: Record) -> EventRequest:
    """Return what a round is requested by: the event, about the pull request `number`, by whoever armed it."""
    actor = Account(record.login, record.armed_by, "User") if record.armed_by else None
    return event_request._replace(
        detail=record.kind,
        number=number,
        head_sha=record.head,
        actor=actor,
        sender=actor,
        tier=None if actor else Tier.SCHEDULE,
    )


def _run_round(context: EventContext, number: int, record: Record) -> EventResult:
    """Run the round that `record` says is begun."""
    from bot.session.event.run_request import run_request

    context.event_request = round_event = round_request(context.event_request, number, record)
    context.thread_ref = context.thread_ref._replace(number=number, key=f"f{record.head[:12]}", lines=0)
    request = build_request(round_event, context.github, context.policy)
    rounds = tuple(map(unescaped, record.rows))
    request = request._replace(policy_file=context.where.policy_file, round=record.kind, rounds=rounds)
    left = context.policy.rounds.usd - record.spent.usd
    if left < context.policy.tiers[request.actor.tier].usd:
        context.options = context.options._replace(budget_usd=least(context.options.budget_usd, left))
    return run_request(context, request)

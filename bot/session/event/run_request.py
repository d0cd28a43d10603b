"""Run one request of an event. Checks first whether it was done already, and the limits of the actor's day."""

import os
from datetime import datetime
from functools import partial
from pathlib import Path

from bot.checkout.clone import Source
from bot.checkout.pull import PullHead
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.outcome import exit_code
from bot.contracts.pulls import BRANCH_PREFIX
from bot.contracts.request import Request, Tier
from bot.events.event_request import OF_PULLS, Cause, RefusedError, UsageRefusedError
from bot.maintenance.due_tasks import Start
from bot.policy.tiers_and_budget import least
from bot.providers.connect import MissingKeyError, check_model, default_model
from bot.providers.replay import RECORDED
from bot.publish.convention.read import newest_subjects
from bot.publish.remote import Remote
from bot.publish.review.posted_reviews import read_history, read_memory
from bot.review.known_findings import NO_MEMORY, ReviewMemory
from bot.run.run import run
from bot.session.context.preflight import check_folder, check_machine
from bot.session.context.run import RunSpec
from bot.session.event.attachments import load_attachments
from bot.session.event.earlier_run import fetch_last_bundle, finished_before
from bot.session.event.event_context import EventContext, EventResult
from bot.session.event.instant_answers import missing_key
from bot.session.event.maintain import decide_now, open_pull_of
from bot.session.event.other_work import (
    close_dead_progress,
    existing_result_url,
    others_at_work,
    resolve_progress_comment,
)
from bot.session.event.progress_comment import ProgressComment
from bot.session.event.quota import check_quota
from bot.session.event.task_threads import gather
from bot.session.run_folder import new_folder
from bot.verbs.record import Earlier
from bot.verbs.registry import VERBS, merges_base, needs

_BUNDLE_GONE = (
    "The bundle of the last run is gone, or this job may not read it (`actions: read`), so there is nothing to "
    "continue: write the whole request anew, as in `/agent fix this`."
)


def run_request(context: EventContext, request: Request) -> EventResult:
    """Run the agent for `request`, unless it was done already. Raises `RefusedError` if the actor's day is used up, and
    an `AgentError` if there is no outcome."""
    begun = context.environment.get("SLASH_AGENT_COMMENT", "")  # by the action, for this run
    begun_comment = int(begun) if begun.isdecimal() else 0
    if url := existing_result_url(context):
        if begun_comment and not url.endswith(f"-{begun_comment}"):
            with context.noting("the second progress comment could not be deleted"):
                context.github.delete_comment(begun_comment)
        reason = f"This request is done already, see {url}. `/agent retry` does it again."
        return EventResult(ExitCode.DONE, reason, answered=True)
    out, where = context.options.out, context.where
    is_rerun = context.environment.get("GITHUB_RUN_ATTEMPT", "1") != "1" and where.run
    if is_rerun and out and not out.exists() and (bundle := finished_before(context, out)):
        context.say("note: an earlier attempt of this job finished the request; its bundle is published")
        return EventResult(ExitCode.DONE, bundle.outcome.reason, bundle)
    if reason := _cannot_publish(context, request) or others_at_work(context, request):
        raise RefusedError(reason)
    if request.task and not where.target:  # a plan decided on its own tasks
        start = Start.WORKFLOW if request.actor.tier is Tier.SCHEDULE else Start.HAND
        now = datetime.fromisoformat(context.now)
        decision = decide_now(request.task, context.github, context.policy, start, now)
        if not decision.run:
            return EventResult(ExitCode.DONE, f"The task {request.task} does not run. {decision.why}")
    model = _usable_model(context, request)
    limit = context.policy.tiers[request.actor.tier].runs_a_day
    # An entry of a maintenance plan was counted when the plan was made.
    if not (where.target and request.task):
        note = check_quota(
            context.github, request, limit, context.now, run=where.run, workflow=where.workflow
        )
        if note:
            context.say(note)
    close_dead_progress(context)
    comment = resolve_progress_comment(context, begun_comment)
    return _run(context, request, model, comment)


def _cannot_publish(context: EventContext, request: Request) -> str:
    """Return why a result could not be published, which is known before the model is paid; empty if it could."""
    name = request.repository
    if state := context.github.repository.read_only:
        return f"The repository {name} is {state}, so nothing can be published there. Have it made writable first."
    if not VERBS[request.verb].changes or request.pull is not None:
        return ""
    root, where = BRANCH_PREFIX.rstrip("/"), context.where
    try:
        # By git, since an API call would count against the quota. It needs no git directory.
        refs = Remote(Path(os.devnull), where.git_url(name), where.token).refs(root)
    except AgentError:
        return ""  # The checkout will report it.
    if root not in refs.heads:
        return ""
    return (
        f"The branch {root} exists on the server, and git cannot keep {BRANCH_PREFIX} beside it: rename or delete "
        f"{root}. Then ask again."
    )


def _run(context: EventContext, request: Request, model: str, comment: int) -> EventResult:
    by_push = context.event_request.trigger.event in OF_PULLS
    is_off = context.environment.get("SLASH_AGENT_PROGRESS") == "false"
    # An automatic review is not announced.
    is_off |= context.event_request.cause is Cause.FOLLOW_UP  # its pull request has a comment for all rounds
    is_shown = not is_off and context.thread_ref.number and not (by_push and VERBS[request.verb].reviews)
    progress = ProgressComment(context, context.thread_ref if is_shown else None, comment)
    progress.show()
    try:
        spec = _spec(context, request, progress, model)
        ended = run(spec)
        if not ended.needs_tree:
            spec.folder.finish()
        if not context.environment.get("RUNNER_TEMP"):  # a runner discards its disk
            spec.folder.tidy()
    except BaseException as error:
        # Whatever it is: no comment may say for ever that somebody is working on it.
        progress.fail(str(error) if isinstance(error, AgentError) else "")
        raise
    progress.end(ended.outcome)
    outcome, kept_run = ended.outcome, spec.folder if ended.needs_tree else None
    code = exit_code(outcome.stop_reason, outcome.status)
    return EventResult(code, outcome.reason, ended.bundle, kept_run=kept_run)


def _spec(context: EventContext, request: Request, progress: ProgressComment, model: str) -> RunSpec:
    options, environment, github = context.options, context.environment, context.github
    check_machine()
    check_folder(options.out)
    folder, where, pull, head = new_folder(environment), context.where, request.pull, None
    if pull is not None:
        merge_base = github.merge_base(request.base_ref, pull.head_sha)
        head = PullHead(pull.number, pull.head_sha, merge_base, merges=merges_base(request))
    base, url = f"refs/heads/{request.base_ref}", where.git_url(request.repository)
    at, memory = context.event_request.trigger.at, NO_MEMORY
    if VERBS[request.verb].reviews and pull is not None:
        if request.options.get("full") == "true":  # all is looked at again, and what is known stays so
            memory = ReviewMemory(findings=read_history(github, pull.number).findings)
        else:
            memory = read_memory(github, pull.number)
    resume = None
    if needs(request.verb, Earlier.RUN):
        resume = folder.root / "resumed"
        if not fetch_last_bundle(context, request.resumes, resume):
            raise UsageError(_BUNDLE_GONE)
    return RunSpec(
        request=request,
        source=Source(url, base, where.token, head),
        folder=folder,
        model=model,
        environment=environment,
        sandbox=options.sandbox,
        origin=options.workspace,
        out=options.out,
        budget_usd=least(float(own) if (own := request.options.get("budget")) else None, options.budget_usd),
        resume=resume,
        memory=memory,
        subjects=lambda sha: newest_subjects(github, sha),
        threads=lambda task: gather(task, github, at),
        load_attachments=partial(load_attachments, where, context.event_request.source),
        view=progress,
        earlier=open_pull_of(request.task, github, context.policy) if request.task else None,
    )


def _usable_model(context: EventContext, request: Request) -> str:
    """Return the model's name, before anything is fetched or counted. Raises `RefusedError` if it cannot be used, with
    the secret's name if the workflow passes no key. A recording is a local file: only the command line may name one."""
    own, environment, where = context.options.model, context.environment, context.where
    try:
        model = request.options.get("model") or own or context.policy.model or default_model(environment)
        if not model.startswith(RECORDED):
            check_model(model, environment)
        elif model != own:
            raise UsageError(f"The model {model} is a recording, which a comment or a policy cannot ask for.")
    except UsageError as error:
        reason = str(error)
        if isinstance(error, MissingKeyError) and where.run:
            reason = missing_key(error, context.github, where.workflow)
        raise UsageRefusedError(reason) from error
    return model

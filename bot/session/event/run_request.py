"""Run one request of an event: model, progress comment, session, bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.agent.loop import TurnInfo
from bot.checkout.clone import Source
from bot.checkout.pull import PullHead
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.progress import NoteEvent
from bot.contracts.request import Request, Verb
from bot.gate.secrets import Finder
from bot.github.client import GitHub
from bot.policy.tiers import run_budget
from bot.policy.values import Policy
from bot.providers.connect import default_model
from bot.publish.thread.ref import ThreadRef
from bot.publish.thread.spending import spending
from bot.session.context.github_env import GitHubEnvironment
from bot.session.context.models import RECORDED, connect_model
from bot.session.context.preflight import check_folder, check_machine
from bot.session.event.event_options import EventOptions, EventResult
from bot.session.event.progress_comment import JobLog, Say, progress_comment
from bot.session.job.attachments import github_attachments
from bot.session.job.outcome import exit_code
from bot.session.job.result import write_run_bundle
from bot.session.job.run_session import run_session
from bot.session.job.spec import RunSpec
from bot.session.progress.interruption import cancelled_by_signals, cut_off, note_work_on_error
from bot.session.run_folder import RunFolder, new_folder

if TYPE_CHECKING:
    from bot.contracts.request import Triage
    from bot.maintenance.task import Task

_OF_PULLS = ("pull_request", "pull_request_target")


@dataclass(frozen=True, slots=True)
class EventContext:
    """What a request runs with. `policy` is the default branch's; `usd_left` is what its actor may spend today,
    `None` for no limit; `finder` knows the repository's rules for secrets. `comment` is the id of the progress
    comment, or 0."""

    options: EventOptions
    environment: Mapping[str, str]
    where: GitHubEnvironment
    github: GitHub
    thread_ref: ThreadRef
    policy: Policy
    now: str
    usd_left: float | None = None
    finder: Finder | None = None
    comment: int = 0


def run_request(context: EventContext, request: Request, say: Say, watch: Say) -> EventResult:
    """Run the agent for `request`. Raises an `AgentError` where it comes to no outcome."""
    options, environment, where = context.options, context.environment, context.where
    check_machine()
    check_folder(options.out)
    model = _model(request, options, context.policy, environment)
    folder = new_folder(environment)
    budget = _budget(request, context)
    limit = run_budget(context.policy, request.actor.tier, budget).usd
    progress = progress_comment(
        _progress_thread_ref(context, request),
        where,
        say,
        watch,
        dry_run=options.dry_run,
        comment=context.comment,
        fields=spending(request.actor, context.now, limit),
        environment=environment,
        finder=context.finder,
    )
    progress.begin()
    stop = CancelToken()
    log = JobLog(watch, environment, context.finder)
    view = options.view

    def turn_done(info: TurnInfo) -> None:
        progress.turn(info)
        if view is None:
            log.turn(info)

    def waiting(text: str) -> None:
        progress.waiting(log.safe(text))
        if view is None:
            log.waiting(text)
        else:
            view.tell(NoteEvent(log.safe(text)))

    try:
        request, resume, notes = _resume_bundle(context, request, folder)
        spec = RunSpec(
            request=request,
            source=_source(request, where),
            folder=folder,
            connect=lambda: connect_model(model, environment),
            connect_named=lambda name: connect_model(name, environment),
            environment=environment,
            sandbox=options.sandbox,
            origin=options.workspace,
            budget_usd=budget,
            resume=resume,
            notes=notes,
            since_sha=_since(context.github, request),
            threads=lambda task: _threads(context, task, request),
            load_attachments=github_attachments(where),
            watch=turn_done,
            say=waiting,
            view=view,
        )
        at_once = cut_off(folder, options.out, view, "slash-agent run", progress.fail)
        interrupted = view.interrupted if view else None
        with note_work_on_error(folder, can_continue=False), cancelled_by_signals(stop, interrupted, at_once):
            ended = run_session(spec, stop)
            bundle = write_run_bundle(options.out, folder, ended)
        if not ended.needs_tree:
            folder.finish()
    except BaseException as error:
        # Whatever it is: no comment may say for ever that somebody is working on it.
        progress.fail(str(error) if isinstance(error, AgentError) else "")
        raise
    progress.end(ended.outcome)
    code = exit_code(ended.outcome.stop_reason, ended.outcome.status)
    kept_folder = folder if ended.needs_tree else None
    return EventResult(code, ended.outcome.reason, ended.outcome, bundle, kept_run=kept_folder)


def _progress_thread_ref(context: EventContext, request: Request) -> ThreadRef | None:
    """Return the thread for the progress comment. An automatic review is not announced."""
    automatic = (
        request.trigger is not None and request.trigger.event in _OF_PULLS and request.verb is Verb.REVIEW
    )
    if (
        automatic
        or not context.thread_ref.number
        or context.environment.get("SLASH_AGENT_PROGRESS") == "false"
    ):
        return None
    return context.thread_ref


def _source(request: Request, where: GitHubEnvironment) -> Source:
    pull = request.pull
    return Source(
        where.git_url(request.repository),
        f"refs/heads/{request.base_ref}",
        where.token,
        PullHead(pull.number, pull.head_sha) if pull else None,
    )


def _since(github: GitHub, request: Request) -> str:
    """Return the head of the last review if only newer changes are to be reviewed."""
    if request.verb is not Verb.REVIEW or request.pull is None or request.options.get("full") == "true":
        return ""
    from bot.publish.review.posted_reviews import last_reviewed

    return last_reviewed(github, request.repository, request.pull.number)


def _threads(context: EventContext, task: Task, request: Request) -> Triage:
    from bot.session.event.triage import gather

    at = request.trigger.at if request.trigger else ""
    return gather(task, request.repository, context.github, at)


def _resume_bundle(
    context: EventContext, request: Request, folder: RunFolder
) -> tuple[Request, Path | None, tuple[str, ...]]:
    """Return the request, the bundle that `continue` resumes from, and notes for people. If the bundle expired, use
    the branch, else the thread, and tell the model."""
    if request.verb is not Verb.CONTINUE or not request.resumes:
        return request, None, ()
    from bot.session.event.retry_continue import fetch_bundle, read_last_result

    bundle = folder.root / "resumed"
    if fetch_bundle(context.github, request.repository, request.resumes, bundle):
        return request, bundle, ()
    from bot.session.event.from_branch import bundle_from_account, bundle_from_branch

    thread = request.thread
    assert thread is not None
    last_result = read_last_result(context.thread_ref, thread, context.github)
    source, email = _source(request, context.where), context.policy.identity.email
    recovered = bundle_from_branch(
        context.github,
        request,
        source,
        email=email,
        last_result=last_result,
        git_dir=folder.root / "last.git",
        bundle=bundle,
    )
    if last_result.text and not recovered.is_written:
        bundle_from_account(request, last_result, bundle)
    missing_parts = "account, which is" if recovered.is_written else "account and change, which are"
    missing = f"the last run's own {missing_parts} not kept any more: go by the thread"
    updated = replace(request, thread=replace(thread, left_out=(*thread.left_out, missing)))
    return (
        updated,
        bundle if last_result.text or recovered.is_written else None,
        (recovered.note,) if recovered.note else (),
    )


def _model(request: Request, options: EventOptions, policy: Policy, environment: Mapping[str, str]) -> str:
    """Return the model's name. A recording is a local file: only the command line may name one."""
    model = request.options.get("model") or options.model or policy.model or default_model(environment)
    if model.startswith(RECORDED) and model != options.model:
        raise UsageError(f"The model {model} is a recording, which a comment or a policy cannot ask for.")
    return model


def _budget(request: Request, context: EventContext) -> float | None:
    limits = [float(request.options["budget"])] if "budget" in request.options else []
    limits += [limit for limit in (context.options.budget_usd, context.usd_left) if limit is not None]
    return min(limits) if limits else None

"""One request carried out: the model, the progress comment, the job, the bundle."""

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
from bot.contracts.progress import Noted
from bot.contracts.request import Request, Verb
from bot.gate.secrets import Finder
from bot.github.client import GitHub
from bot.policy.budget import run_budget
from bot.policy.schema import Policy
from bot.providers.connect import default_model
from bot.publish.thread.place import Place
from bot.publish.thread.spending import spending
from bot.run import conclude
from bot.run.cut_off import cut_off, names_the_work
from bot.run.folder import RunFolder, new_folder
from bot.run.github_env import GitHubEnvironment
from bot.run.job import Job, run_job
from bot.run.models import RECORDED, connect_model
from bot.run.pictures import from_github
from bot.run.preflight import check_folder, check_machine
from bot.run.show import keep
from bot.run.signals import cancelled_by_signals
from bot.run.told import JobLog, Say, progress_comment

if TYPE_CHECKING:
    from bot.contracts.triage import Triage
    from bot.run.event import EventEnded, EventRun
    from bot.tasks.task import Task

_OF_PULLS = ("pull_request", "pull_request_target")


@dataclass(frozen=True, slots=True)
class Work:
    """What a request is carried out with. `policy` is the default branch's; `usd_left` is what its actor may spend
    today, `None` for any amount; `finder` knows the repository's own rules for secrets."""

    asked: EventRun
    environment: Mapping[str, str]
    where: GitHubEnvironment
    github: GitHub
    place: Place
    policy: Policy
    now: str
    usd_left: float | None = None
    finder: Finder | None = None


def carry_out(work: Work, request: Request, say: Say, watch: Say) -> EventEnded:
    """Run the agent for `request`. Raises an `AgentError` where it comes to no outcome."""
    from bot.run.event import EventEnded

    asked, environment, where = work.asked, work.environment, work.where
    check_machine()
    check_folder(asked.out)
    model = _model(request, asked, work.policy, environment)
    folder = new_folder(environment)
    begun = environment.get("SLASH_AGENT_COMMENT", "")
    budget = _budget(request, work)
    most = run_budget(work.policy, request.actor.tier, budget).usd
    progress = progress_comment(
        _shown_at(work, request), where, say, watch, dry_run=asked.dry_run,
        comment=int(begun) if begun.isdecimal() else 0, fields=spending(request.actor, work.now, most),
        environment=environment, finder=work.finder,
    )  # fmt: skip
    progress.begin()
    stop = CancelToken()
    log = JobLog(watch, environment, work.finder)
    view = asked.view

    def turn_done(info: TurnInfo) -> None:
        progress.turn(info)
        if view is None:
            log.turn(info)

    def waiting(text: str) -> None:
        progress.waiting(log.safe(text))
        if view is None:
            log.waiting(text)
        else:
            view.tell(Noted(log.safe(text)))

    try:
        request, resume, notes = _gone_on_from(work, request, folder)
        job = Job(
            request=request,
            source=_source(request, where),
            folder=folder,
            connect=lambda: connect_model(model, environment),
            connect_named=lambda name: connect_model(name, environment),
            environment=environment,
            sandbox=asked.sandbox,
            origin=asked.workspace,
            budget_usd=budget,
            resume=resume,
            notes=notes,
            since_sha=_since(work.github, request),
            threads=lambda task: _threads(work, task, request),
            pictures=from_github(where),
            watch=turn_done,
            say=waiting,
            view=view,
        )
        at_once = cut_off(folder, asked.out, view, "slash-agent run", progress.fail)
        interrupted = view.interrupted if view else None
        with names_the_work(folder, goes_on=False), cancelled_by_signals(stop, interrupted, at_once):
            ended = run_job(job, stop)
            bundle = keep(asked.out, folder, ended)
        if not ended.needs_tree:
            folder.finish()
    except BaseException as error:
        # Whatever it is: no comment may say for ever that somebody is working on it.
        progress.fail(str(error) if isinstance(error, AgentError) else "")
        raise
    progress.end(ended.outcome)
    code = conclude.exit_code(ended.outcome.stop_reason, ended.outcome.status)
    kept = folder if ended.needs_tree else None
    return EventEnded(code, ended.outcome.reason, ended.outcome, bundle, kept_run=kept)


def _shown_at(work: Work, request: Request) -> Place | None:
    """Where the progress comment stands. A review that nobody asked for is not announced."""
    unasked = (
        request.trigger is not None and request.trigger.event in _OF_PULLS and request.verb is Verb.REVIEW
    )
    if unasked or not work.place.number or work.environment.get("SLASH_AGENT_PROGRESS") == "false":
        return None
    return work.place


def _source(request: Request, where: GitHubEnvironment) -> Source:
    pull = request.pull
    return Source(
        where.git_url(request.repository),
        f"refs/heads/{request.base_ref}",
        where.token,
        PullHead(pull.number, pull.head_sha) if pull else None,
    )


def _since(github: GitHub, request: Request) -> str:
    """The head that was reviewed last, where only what is new is to be reviewed."""
    if request.verb is not Verb.REVIEW or request.pull is None or request.options.get("full") == "true":
        return ""
    from bot.publish.review.past import last_reviewed

    return last_reviewed(github, request.repository, request.pull.number)


def _threads(work: Work, task: Task, request: Request) -> Triage:
    from bot.run.triage import gather

    at = request.trigger.at if request.trigger else ""
    return gather(task, request.repository, work.github, at)


def _gone_on_from(
    work: Work, request: Request, folder: RunFolder
) -> tuple[Request, Path | None, tuple[str, ...]]:
    """The bundle that a `continue` goes on from, and what people are told of it. Where it is gone, the branch has to
    do, else the thread, and the model is told."""
    if request.verb is not Verb.CONTINUE or not request.resumes:
        return request, None, ()
    from bot.run.again import fetch_bundle

    bundle = folder.root / "resumed"
    if fetch_bundle(work.github, request.repository, request.resumes, bundle):
        return request, bundle, ()
    from bot.run.from_branch import bundle_from_branch

    source, email = _source(request, work.where), work.policy.identity.email
    found = bundle_from_branch(work.github, request, source, email, folder.root / "last.git", bundle)
    thread = request.thread
    assert thread is not None
    of_it = "account, which is" if found.made else "account and change, which are"
    missing = f"the last run's own {of_it} not kept any more: go by the thread"
    told = replace(request, thread=replace(thread, left_out=(*thread.left_out, missing)))
    return told, bundle if found.made else None, (found.note,) if found.note else ()


def _model(request: Request, asked: EventRun, policy: Policy, environment: Mapping[str, str]) -> str:
    """A recording is a file of this machine's: only whoever started the program may name one."""
    wanted = request.options.get("model") or asked.model or policy.model or default_model(environment)
    if wanted.startswith(RECORDED) and wanted != asked.model:
        raise UsageError(f"The model {wanted} is a recording, which a comment or a policy cannot ask for.")
    return wanted


def _budget(request: Request, work: Work) -> float | None:
    wanted = [float(request.options["budget"])] if "budget" in request.options else []
    wanted += [limit for limit in (work.asked.budget_usd, work.usd_left) if limit is not None]
    return min(wanted) if wanted else None

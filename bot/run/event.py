"""`slash-agent run`: one GitHub event, from payload to bundle.

Refusals come first and cost least: before any checkout, before a model or a sandbox is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.agent.loop import TurnInfo
from bot.checkout.clone import Source
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request
from bot.github.client import connect
from bot.github.host import CommentHost
from bot.github.recorder import Recorder
from bot.intake.event import read_event
from bot.intake.request import Ignored, Refusal, build_request, recognise
from bot.policy.admit import admission
from bot.policy.errors import PolicyError
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.schema import Policy
from bot.providers.connect import default_model
from bot.publish.thread import Place
from bot.run import conclude
from bot.run.folder import new_folder
from bot.run.github_env import GitHubEnvironment, read_github_environment, require_token
from bot.run.job import Job, run_job
from bot.run.models import RECORDED, connect_model
from bot.run.show import keep
from bot.run.signals import cancelled_by_signals
from bot.run.told import JobLog, progress_comment, tell, tell_trouble
from bot.sandbox.choose import Setting

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EventRun:
    """What the command line asked for. With `dry_run` every write to GitHub is said instead of made."""

    name: str
    payload: Path
    out: Path | None = None
    dry_run: bool = False
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    workspace: Path | None = None


@dataclass(frozen=True, slots=True)
class EventEnded:
    """What came of an event. `outcome` and `bundle` are `None` where there was nothing to do or nobody may."""

    exit_code: ExitCode
    reason: str
    outcome: Outcome | None = None
    bundle: Path | None = None


def run_event(asked: EventRun, environment: Mapping[str, str], say: Say, watch: Say) -> EventEnded:
    """Handle one event. `say` takes what would be written in a dry run, `watch` a line a tool call."""
    event = read_event(asked.name, asked.payload)
    asked_for = recognise(event)
    if isinstance(asked_for, Ignored):
        return EventEnded(ExitCode.DONE, asked_for.reason)
    where = read_github_environment(environment)
    token = require_token(where)
    github = connect(token, where.api_url)
    name, default = asked_for.repository.name, asked_for.repository.default_branch
    # Who may do what is the default branch's to say: a branch that the commenter names must not let them in.
    policy = _Lazy(lambda: load_policy(github.file(name, POLICY_FILE, default), POLICY_FILE))
    place = Place(name, asked_for.number, str(asked_for.trigger.comment_id), asked_for.trigger.at)
    host: CommentHost = Recorder(github, say) if asked.dry_run else github
    try:
        decided = build_request(event, github, lambda: admission(policy.get()))
    except PolicyError as error:
        # Whoever could mend the file is told; to others it is no business of theirs.
        if isinstance(build_request(event, github, lambda: admission(load_policy(None))), Request):
            tell_trouble(host, place, error, watch)
        raise
    if isinstance(decided, Ignored):
        return EventEnded(ExitCode.DONE, decided.reason)
    if isinstance(decided, Refusal):
        if decided.said:
            tell(host, place, decided.reason, watch)
        return EventEnded(decided.exit_code, decided.reason)
    try:
        return _carry_out(decided, asked, environment, where, policy.get(), say, watch)
    except AgentError as error:
        # There is no bundle that could tell of it, and the thread must not wait for an answer that never comes.
        tell_trouble(host, place, error, watch)
        raise


def _carry_out(
    request: Request, asked: EventRun, environment: Mapping[str, str], where: GitHubEnvironment, policy: Policy,
    say: Say, watch: Say,
) -> EventEnded:  # fmt: skip
    model = _model(request, asked, policy, environment)
    folder = new_folder(environment)
    progress = progress_comment(request, where, say, watch, dry_run=asked.dry_run)
    progress.begin()
    stop = CancelToken()

    log = JobLog(watch, environment)

    def turn_done(info: TurnInfo) -> None:
        progress.turn(info)
        log.turn(info)

    def waiting(text: str) -> None:
        progress.waiting(log.safe(text))
        log.waiting(text)

    job = Job(
        request=request,
        source=Source(where.git_url(request.repository), f"refs/heads/{request.base_ref}", where.token),
        folder=folder,
        connect=lambda: connect_model(model, environment),
        environment=environment,
        sandbox=asked.sandbox,
        origin=asked.workspace,
        budget_usd=_budget(request, asked),
        watch=turn_done,
        say=waiting,
    )
    try:
        with cancelled_by_signals(stop):
            ended = run_job(job, stop)
            bundle = keep(asked.out, folder, ended)
        folder.drop_trees()
    except BaseException:
        # Whatever it is: no comment may say for ever that somebody is working on it.
        progress.fail()
        raise
    progress.end(ended.outcome)
    return EventEnded(
        conclude.exit_code(ended.outcome.stop_reason, ended.outcome.status), ended.outcome.reason, ended.outcome, bundle
    )


def _model(request: Request, asked: EventRun, policy: Policy, environment: Mapping[str, str]) -> str:
    """A recording is a file of this machine's: only whoever started the program may name one."""
    wanted = request.options.get("model") or asked.model or policy.model or default_model(environment)
    if wanted.startswith(RECORDED) and wanted != asked.model:
        raise UsageError(f"The model {wanted} is a recording, which a comment or a policy cannot ask for.")
    return wanted


def _budget(request: Request, asked: EventRun) -> float | None:
    wanted = [float(request.options["budget"])] if "budget" in request.options else []
    if asked.budget_usd is not None:
        wanted.append(asked.budget_usd)
    return min(wanted) if wanted else None


class _Lazy:
    """The policy, read once and only when it is wanted."""

    def __init__(self, read: Callable[[], Policy]) -> None:
        self._read = read
        self._policy: Policy | None = None

    def get(self) -> Policy:
        if self._policy is None:
            self._policy = self._read()
        return self._policy

"""One job, from a request to what it has to show: checkout, policy, workshop, conversation, gate, checks.

What costs time is overlapped: the vendor's package is imported while git and the sandbox work, and the checks
before the change run while the model reads. What only the end of a run needs is imported there. Whatever ends the
conversation, the gate still looks at the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot import __version__
from bot.agent.compaction import Summaries
from bot.agent.journal import Journal, file_version
from bot.agent.loop import Hooks, LoopEnd, Session, TurnInfo
from bot.agent.loop import run as converse
from bot.agent.masking import last_request_hands_over, left_soon
from bot.agent.prompt import new_marker, system_prompt
from bot.agent.task import LastRun, first_message
from bot.agent.todo import rendered
from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout, Source, prepare
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import GateError, UsageError
from bot.contracts.events import Retrying
from bot.contracts.limits import Limits
from bot.contracts.messages import Usage
from bot.contracts.model import Provider
from bot.contracts.outcome import Outcome, StopReason
from bot.contracts.plan import Plan
from bot.contracts.request import Request, Verb
from bot.contracts.review import Review
from bot.contracts.tools import ToolOutcome
from bot.contracts.triage import Triage
from bot.contracts.wording import count_of
from bot.contracts.writes import Writes
from bot.gate.redact import Redactor
from bot.policy.budget import run_budget
from bot.policy.decide import may_write
from bot.policy.schema import Policy
from bot.providers.connect import adapted
from bot.providers.models import cost, doubts
from bot.run.agent_workshop import AgentWorkshop, CallPlace
from bot.run.archive import Archive
from bot.run.background import Background
from bot.run.base import base_policy, base_task, checks_of, worded_as
from bot.run.briefing import Briefing
from bot.run.folder import RunFolder
from bot.run.instructions import instructions
from bot.run.judging import Judging
from bot.run.masked import masked, masked_value
from bot.run.profiles import REPORT_FINDING, profile_of
from bot.run.results import Results
from bot.run.rounds import Rounds
from bot.run.secrets import known_secrets
from bot.run.signals import cancelled_after
from bot.run.skills import RunSkills, begin_to_find
from bot.run.stop_hook import StopHook
from bot.run.subagents import RunSubagents
from bot.run.tools import Gatekeeper, RunToolbox
from bot.run.trees import Trees
from bot.run.writing import propose_writes
from bot.sandbox.choose import Setting, choose
from bot.sandbox.confinement import Confinement
from bot.skills.find import Found
from bot.workshop.client.workshop import Answer, Question, ScanResult, Workshop

if TYPE_CHECKING:
    from bot.gate.tree import Verdict
    from bot.publish.bundle import Bundle
    from bot.run.resume import Resumed
    from bot.run.reviewing import Range, Reviewing
    from bot.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Job:
    """What a run is given. `connect` makes the provider and is called on a thread of its own. `origin` is the
    folder that the work tree stands for: where `bring:` comes from and where commands see the tree. `resume` is the
    folder of the bundle that a `continue` goes on from. A review is of `range`; without one it is of the request's
    pull request, of that only what is new since `since_sha` where that is given. `threads` reads what a task is
    shown. `watch` is told of each turn, `say` in a line of whatever else takes its time; `say` from any thread."""

    request: Request
    source: Source
    folder: RunFolder
    connect: Callable[[], Provider]
    environment: Mapping[str, str]
    sandbox: Setting = "auto"
    origin: Path | None = None
    budget_usd: float | None = None
    resume: Path | None = None
    range: Range | None = None
    since_sha: str = ""
    threads: Callable[[Task], Triage] | None = None
    watch: Callable[[TurnInfo], None] = lambda info: None
    say: Callable[[str], None] = lambda line: None


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run has to show. `verdict` is `None` when the gate refused the tree, and in a run that only reads."""

    checkout: Checkout
    policy: Policy
    outcome: Outcome
    verdict: Verdict | None
    plan: Plan | None = None
    review: Review | None = None
    writes: Writes | None = None


def run_job(job: Job, stop: CancelToken) -> Ended:
    """Do `job`. `stop` is fired by signals. Raises an `AgentError` for what goes wrong before the first request;
    from then on whatever happens is in the outcome. A run that does not get so far leaves nothing behind."""
    try:
        return _begin(job, stop)
    except BaseException:
        if not job.folder.begun:
            job.folder.drop()
        raise


def _begin(job: Job, stop: CancelToken) -> Ended:
    _refuse_in_vain(job.request)
    last = _last_bundle(job)
    provider = Background(job.connect, "connect")
    confinement = choose(job.sandbox)
    checkout = prepare(job.source, job.folder.root)
    task = base_task(checkout, job.request)
    skills = begin_to_find(checkout)
    policy = base_policy(checkout, job.request, task)
    if task is not None and task.threads is not None:
        job = _with_threads(job, task)
    if policy.history != 1:
        checkout = prepare(job.source, job.folder.root / "history", history=policy.history)
    with ExitStack() as stack:
        redactor = Redactor(known_secrets(job.environment))
        journal = stack.enter_context(Journal(job.folder.journal, redactor.text))
        run = _Run(job, checkout, policy, confinement, journal, redactor, stop, stack, skills, last, task)
        return run.hold(provider)


def _refuse_in_vain(request: Request) -> None:
    if request.verb is Verb.APPROVE and request.plan is None:
        raise UsageError("There is no approved plan to carry out: `/agent plan` makes one.")


def _with_threads(job: Job, task: Task) -> Job:
    if job.threads is None:
        raise UsageError(f"The task {task.name} is about threads on GitHub, and there are none here.")
    triage = job.threads(task)
    job.say(f"{count_of(len(triage.threads), 'thread')} to look at")
    return replace(job, request=replace(job.request, triage=triage))


def _last_bundle(job: Job) -> Bundle | None:
    if job.resume is None:
        return None
    from bot.run.resume import last_bundle

    return last_bundle(job.resume, job.request)


class _Run:
    """The parts of one run and the order in which they are used."""

    def __init__(
        self, job: Job, checkout: Checkout, policy: Policy, confinement: Confinement, journal: Journal,
        redactor: Redactor, stop: CancelToken, stack: ExitStack, skills: Background[Found],
        last: Bundle | None = None, task: Task | None = None,
    ) -> None:  # fmt: skip
        self.job = job
        self.checkout = checkout
        self.policy = policy
        self.confinement = confinement
        self.journal = journal
        self.redactor = redactor
        self.stop = stop
        self.cancel = CancelToken()
        self.started_at = _now()
        self.turn = 0
        self.model = ""
        self.last = last
        self.asked = worded_as(job.request, task)
        proposing = propose_writes(policy, job.request, task, journal.write)
        self.skills = RunSkills(skills.result(), job.folder, confinement, self._root(), lambda: self.model)
        self.profile = profile = self.skills.offered_by(
            profile_of(job.request, last.outcome.request.verb if last else None, writes=proposing is not None)
        )
        setup, bring = (policy.setup, policy.bring) if profile.setup else ((), ())
        self.trees = Trees(checkout, job.folder, self._open, setup, bring, job.origin, job.say)
        self.rounds = Rounds(
            () if profile.read_only else checks_of(policy, checkout, task), self.trees, journal.write, stop, job.say,
            profile.unrun,
        )  # fmt: skip
        self.gatekeeper = Gatekeeper(
            policy, job.request.actor.tier, self._root(), journal.write, profile, self.skills.grants.why
        )
        self.reviewing = self._reviewing()
        reviewing = (self.reviewing.tool,) if self.reviewing else ()
        self.workshop = AgentWorkshop(self._start, self._changed)
        self.archive = Archive(job.folder.archive, redactor.text)
        self.subagents = RunSubagents(
            lambda: adapted(job.connect(), policy.models), self.workshop, self.gatekeeper, profile, journal,
            self.archive, job.say, lambda: self.toolbox.place[:2],
        )  # fmt: skip
        self.results = Results(*reviewing, *self.skills.tools, self.subagents.tool, propose=proposing)
        self.briefing = Briefing(
            job.request,
            checkout,
            profile,
            self._root(),
            self.rounds.checks,
            self.reviewing,
            last is not None,
            instructions(
                checkout.git,
                checkout.policy_sha or checkout.base_sha,
                policy.agent.instructions,
                _near(job.request),
            ),
        )
        self.judging = Judging(
            checkout,
            policy,
            job.request.actor.tier,
            profile,
            self.trees,
            self.workshop,
            redactor,
            journal.write,
        )
        self.stop_hook = StopHook(
            policy.agent.stop_hook,
            profile,
            self.results,
            self.rounds,
            self.judging,
            self.asked.instruction,
            stop,
        )
        stack.callback(self.trees.settle)
        stack.callback(self.rounds.settle)
        stack.callback(self.workshop.kill)

    def hold(self, provider_under_way: Background[Provider]) -> Ended:
        """Start what must be there, hold the conversation, judge what came of it."""
        last = self._resume()
        self.trees.begin(self.stop)
        if not self.trees.need_preparing:
            self.workshop.open()
        provider = adapted(provider_under_way.result(), self.policy.models)
        self.doubts = doubts(provider.info)
        self.model = provider.info.name
        budget = run_budget(self.policy, self.job.request.actor.tier, self.job.budget_usd)
        turns = min(budget.turns, self.profile.turns or budget.turns)
        limits = Limits(turns=turns, cost_usd=budget.usd, minutes=budget.minutes)
        tools = self.results.of(self.profile)
        self.toolbox = toolbox = RunToolbox(
            self.workshop, self.gatekeeper, self.profile, tools, lambda: self.turn,
            overlaps=self.subagents.tool.read_only,
        )  # fmt: skip
        system = system_prompt(self.profile.prompt, toolbox.specs)
        self.journal.write(self._header(provider, system, toolbox, limits))
        for note in self.skills.notes:
            self.journal.write(lines.Note(note))
        if last and last.files:
            self.journal.write(
                lines.FilesChanged(0, last.files, note="the change of the run before this one")
            )
        base, wall = self.checkout.base_sha[:12], self.confinement.name
        self.job.say(f"at commit {base}, with {provider.info.name}, sandbox {wall}")
        session = Session(
            provider, system, toolbox, self.journal, limits, self.cancel,
            Hooks(
                self._request_sent, self.job.watch, self._before_end, self._retrying,
                self.results.ask.stop, self._after_results, self._carried,
            ),
            stop_on_denial=self.policy.on_deny == "stop",
            price=cost,
            compaction=Summaries(provider, self.archive, cost),
            identity=new_marker(),
            masking=last_request_hands_over(self.profile.results),
        )  # fmt: skip
        session = self.subagents.begin(session)
        forget = self.stop.on_fire(lambda: self.cancel.fire("signal"))
        try:
            with cancelled_after(self.cancel, budget.minutes):
                end = self._converse(session, last.last if last else None)
        finally:
            forget()
            provider.close()
        return self._conclude(end, provider.info.name)

    def _converse(self, session: Session, last: LastRun | None) -> LoopEnd:
        if self.reviewing and self.reviewing.nothing_new:
            reason = "Nothing of the diff is new since it was reviewed last."
            return LoopEnd(StopReason.END_TURN, reason, 0, Usage(), 0.0, "")
        return converse(session, first_message(self.asked, self.briefing.facts(), new_marker(), last))

    def _conclude(self, end: LoopEnd, model: str) -> Ended:
        from bot.run import conclude

        judged, dropped = self.judging.at_the_end()
        verdict = None if isinstance(judged, GateError) else judged
        changed = verdict is not None and bool(verdict.files)
        checks = self.rounds.results(verdict.tree_sha if verdict and changed else None)
        review = self.reviewing.review(end.final_text) if self.reviewing else None
        handed = masked_value(self.results.handed(review), self.redactor)
        outcome = conclude.outcome(
            conclude.Facts(
                request=self.job.request,
                base_sha=self.checkout.base_sha,
                model=model,
                sandbox=self.confinement.name,
                started_at=self.started_at,
                ended_at=_now(),
                version=__version__,
            ),
            self.profile,
            end,
            judged,
            handed,
            checks=checks,
            denials=self.gatekeeper.denials,
            notes=(*self.doubts, *self.briefing.notes(), *self.results.notes(), *dropped),
            redactions=(),
        )
        outcome = masked(outcome, self.redactor)
        ended = lines.RunEnded(
            outcome.status.value, outcome.stop_reason.value, outcome.reason, outcome.patch_sha256,
            verdict.tree_sha if verdict else "",
        )  # fmt: skip
        if not self.journal.failure:
            self.journal.write(ended)
        return Ended(self.checkout, self.policy, outcome, verdict, handed.plan, handed.review, handed.writes)

    # What the loop tells and asks.

    def _request_sent(self, turn: int) -> None:
        self.workshop.scan_meanwhile()
        self.turn = turn
        if turn == 1:
            self.rounds.start_before()

    def _carried(self) -> Sequence[str]:
        """What a shorter conversation keeps word for word."""
        todo = self.results.todo
        listed = (f"Your list:\n{rendered(todo.items)}",) if todo.items else ()
        return (*listed, *self.skills.carried())

    def _retrying(self, event: Retrying) -> None:
        self.job.say(f"{event.reason}; asking again in {event.delay:.0f} s")

    def _after_results(self, info: TurnInfo) -> Sequence[str]:
        recalled = self.results.todo.recall(info.calls)
        left = left_soon(info.state, self.profile.results)
        return (*self.skills.after_results(), *(text for text in (recalled, left) if text))

    def _before_end(self) -> str | None:
        self.skills.end_turn()
        return self.stop_hook.before_end()

    # Workshops.

    def _start(self, number: int) -> Workshop:
        """The agent's workshop. Where the repository had to be prepared, that is waited for here: at the first
        tool call, not before the first request."""
        workshop = self._open(f"agent-{number}", self.checkout.tree, self.trees.read_only())
        if number == 0:
            self.trees.outfit(workshop, self.stop)
        return workshop

    def _open(self, name: str, tree: Path, read_only: Sequence[Path]) -> Workshop:
        return Workshop.start(
            self.confinement,
            tree=tree,
            folder=self.job.folder.workshop(name),
            mount=self._root(),
            environment=self.job.environment,
            ask=self.gatekeeper.answer if name.startswith("agent") else _no_questions,
            # One for all of the agent's workshops: a file's versions go on being counted where the last one ended.
            history=self.job.folder.root / "versions" if name.startswith("agent") else None,
            bring=tuple(read_only),
            skills=self.skills.folder if name.startswith("agent") else None,
            archive=self.job.folder.archive if name.startswith("agent") else None,
        )

    def _root(self) -> str:
        return str(self.job.origin or self.checkout.tree)

    def _changed(self, place: CallPlace, scan: ScanResult) -> None:
        """Journal what a command changed, with the bytes before it where the base has them."""
        if not scan.files and not scan.note:
            return
        there = [change.path for change in scan.files if change.before and not change.oversize]
        before = blobs_at(self.checkout.git, self.checkout.base_sha, there)
        versions = tuple(file_version(change, before.get(change.path)) for change in scan.files)
        self.journal.of(place.agent).write(lines.FilesChanged(place.turn, versions, place.call_id, scan.note))

    def _header(self, provider: Provider, system: str, toolbox: RunToolbox, limits: Limits) -> lines.Header:
        policy_sha = self.checkout.policy_sha
        return lines.Header(
            schema=lines.SCHEMA_VERSION,
            version=__version__,
            started_at=self.started_at,
            model=provider.info.name,
            info=provider.info,
            base_sha=self.checkout.base_sha,
            request=self.job.request,
            system=system,
            tools=toolbox.specs,
            limits=limits,
            sandbox=self.confinement.name,
            policy_sha="" if policy_sha == self.checkout.base_sha else policy_sha,
        )

    def _resume(self) -> Resumed | None:
        """The last run's change into the tree, before any workshop sees it."""
        if self.last is None:
            return None
        from bot.run.resume import resume

        rule = may_write(self.policy, self.job.request.actor.tier)
        return resume(self.last, self.checkout, self.job.source, rule)

    def _reviewing(self) -> Reviewing | None:
        """What a review is held against; `None` in every other run."""
        if REPORT_FINDING not in self.profile.results:
            return None
        from bot.run.reviewing import Reviewing, pull_range, said

        if self.job.range is None and self.job.request.pull is None:
            raise UsageError("A review is of a pull request, and there is none here.")
        found = self.job.range or pull_range(self.checkout, self.job.source, self.job.since_sha)
        self.job.say(said(found))

        def try_it(question: str, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
            return self.workshop.call(question, arguments, cancel, place=None)

        return Reviewing(found, self.policy.review.max_findings, try_it)


def _near(request: Request) -> tuple[str, ...]:
    """The paths that the request points at."""
    anchored = (request.anchor.path,) if request.anchor else ()
    planned = [path for step in request.plan.steps for path in step.paths] if request.plan else []
    return (*anchored, *planned)


def _no_questions(question: Question) -> Answer:
    """Checks and setup run commands only; a question from their host is not one of ours."""
    return Answer(False, f"{question.tool} is not used here")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

"""One run from its parts: what the model is given, the conversation, and what is concluded from it.

Whatever ends the conversation, the gate still looks at the tree. What only the end of a run needs is imported there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bot import __version__
from bot.agent.compaction import Summaries
from bot.agent.journal import Journal
from bot.agent.loop import LoopEnd, Session
from bot.agent.loop import run as converse
from bot.agent.masking import last_request_hands_over
from bot.agent.prompt import new_marker, system_prompt
from bot.agent.task import LastRun, first_message
from bot.checkout.clone import Checkout
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import GateError, UsageError
from bot.contracts.limits import Limits
from bot.contracts.messages import Usage
from bot.contracts.model import Provider
from bot.contracts.outcome import StopReason
from bot.contracts.request import Request, Tier
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.gate.detect import Detector
from bot.policy.budget import run_budget
from bot.policy.decide import may_write
from bot.policy.schema import Policy
from bot.providers.connect import adapted
from bot.providers.models import cost, doubts
from bot.run.agent_workshop import AgentWorkshop
from bot.run.archive import Archive
from bot.run.asking import Asking, let_before
from bot.run.background import Background
from bot.run.base import checks_of, worded_as
from bot.run.briefing import Briefing
from bot.run.covered import Covered
from bot.run.instructions import instructions
from bot.run.judging import Judging
from bot.run.lent import LentModels
from bot.run.listening import Listening
from bot.run.looking_on import LookingOn
from bot.run.masked import masked, masked_value
from bot.run.network import Network
from bot.run.network import said as said_of
from bot.run.new_errors import TryInWorkshop
from bot.run.pictures import Pictures, begin_to_look
from bot.run.profiles import REPORT_FINDING, profile_of
from bot.run.results import Results
from bot.run.rounds import Rounds
from bot.run.server_terms import server_terms
from bot.run.signals import cancelled_after
from bot.run.skills import RunSkills
from bot.run.stop_hook import StopHook
from bot.run.subagents import RunSubagents
from bot.run.terms import Ended, Job
from bot.run.tools import Gatekeeper, RunToolbox
from bot.run.trees import Trees
from bot.run.workshops import Workshops
from bot.run.writing import propose_writes
from bot.sandbox.confinement import Confinement
from bot.skills.find import Found
from bot.workshop.client.workshop import Workshop

if TYPE_CHECKING:
    from bot.publish.bundle import Bundle
    from bot.run.gone_on import Kept
    from bot.run.inspection import Inspection
    from bot.run.resume import Resumed
    from bot.run.reviewing import Reviewing
    from bot.tasks.task import Task


class Run:
    """The parts of one run and the order in which they are used."""

    def __init__(
        self, job: Job, checkout: Checkout, policy: Policy, confinement: Confinement, journal: Journal,
        detector: Detector, stop: CancelToken, stack: ExitStack, skills: Background[Found],
        last: Bundle | None = None, task: Task | None = None,
    ) -> None:  # fmt: skip
        self.job = job
        self.checkout = checkout
        self.policy = policy
        self.confinement = confinement
        self.journal = journal
        self.detector = detector
        redactor = detector.redactor
        self.stop = stop
        self.cancel = CancelToken()
        self.started_at = _now()
        self.model = ""
        self.last = last
        self.root = str((job.origin if confinement.moves else None) or checkout.tree)
        self.asked = worded_as(job.request, task)
        proposing = propose_writes(policy, job.request, task, journal.write)
        self.models = LentModels(lambda: self.model, policy, job.connect_named)
        self.skills = RunSkills(skills.result(), job.folder, confinement, self.root, self.models)
        self.profile = profile = self.skills.offered_by(
            profile_of(job.request, last.outcome.request.verb if last else None, writes=proposing is not None)
        )
        setup, bring = (policy.setup, policy.bring) if profile.setup else ((), ())
        self.network = Network(policy, job.request, profile, job.environment)
        self.workshops = Workshops(
            checkout,
            confinement,
            job.folder,
            self.root,
            job.environment,
            self.skills.folder,
            journal,
            self.network,
            policy.sandbox.limits,
        )
        self.trees = Trees(
            checkout,
            job.folder,
            self.workshops.of_commands,
            setup,
            bring,
            job.origin,
            job.say,
            self.network.hold_to,
        )
        self.rounds = Rounds(
            () if profile.read_only else checks_of(policy, checkout, task), self.trees, journal.write, stop, job.say,
            profile.unrun, "" if confinement.moves else str(job.origin or ""), self._inspection(),
            Covered(checkout),
        )  # fmt: skip
        tier = job.request.actor.tier
        self.asking = Asking(
            job.view.person if job.view else None, self.cancel, detector.kept,
            let_before(job.resume, job.folder.root.parent) if tier is Tier.LOCAL else None,
        )  # fmt: skip
        self.gatekeeper = Gatekeeper(
            policy, tier, self.root, journal.write, profile, self.skills.grants.why, self.asking
        )
        self.reviewing = self._reviewing()
        reviewing = (self.reviewing.tool,) if self.reviewing else ()
        self.looking_on = LookingOn(
            None if profile.read_only else policy.diagnostics,
            journal,
            lambda: server_terms(policy, tier, profile),
        )
        self.workshop = AgentWorkshop(self._start, self.workshops.changed, redactor.text, self.looking_on)
        self.archive = Archive(job.folder.archive, redactor.text)
        self.subagents = RunSubagents(
            lambda: adapted(job.connect(), policy.models), self.workshop, self.gatekeeper, profile, journal,
            self.archive, job.say, lambda: self.toolbox.place[:2], self.skills,
        )  # fmt: skip
        self.results = Results(
            *reviewing,
            *self.skills.tools,
            self.subagents.tool,
            propose=proposing,
            session=job.folder.root.name,
        )
        sha = checkout.policy_sha or checkout.base_sha
        told = instructions(checkout.git, sha, policy.agent.instructions, _near(job.request))
        self.briefing = Briefing(
            job.request,
            checkout,
            profile,
            self.root,
            self.rounds.checks,
            self.reviewing,
            last is not None,
            told,
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
            self.asking.approved,
        )
        stop_hook = StopHook(
            policy.agent.stop_hook,
            profile,
            self.results,
            self.rounds,
            self.judging,
            TryInWorkshop(self.workshops, job.folder, stop, job.say),
            self.asked.instruction,
            stop,
            self.looking_on,
        )
        self.listening = Listening(
            self.workshop, self.rounds, self.results, self.skills, stop_hook, profile, job.watch, job.say
        )
        stack.callback(self.skills.close)
        stack.callback(self.trees.settle)
        stack.callback(self.rounds.settle)
        stack.callback(self.workshop.kill)

    def hold(self, provider_under_way: Background[Provider]) -> Ended:
        """Start what must be there, hold the conversation, judge what came of it."""
        pictures = begin_to_look(
            self.job, self.asked, self.policy, self.confinement, provider_under_way, self.stop
        )
        last = self._resume()
        self.trees.begin(self.stop)
        if not self.trees.need_preparing:
            self.workshop.open()
        provider = adapted(provider_under_way.result(), self.policy.models)
        self.doubts = doubts(provider.info)
        self.model = provider.info.name
        budget = run_budget(self.policy, self.job.request.actor.tier, self.job.budget_usd)
        turns = min(budget.turns, self.profile.turns or budget.turns)
        self.rounds.end_by(budget.minutes)
        limits = Limits(turns, budget.tokens, budget.usd, budget.minutes, budget.commands, budget.output)
        tools = self.results.of(self.profile)
        self.toolbox = toolbox = RunToolbox(
            self.workshop, self.gatekeeper, self.profile, tools, lambda: self.listening.turn,
            overlaps=self.subagents.tool.read_only,
        )  # fmt: skip
        system = system_prompt(self.profile.prompt, toolbox.specs)
        kept, said = self._conversation(system, toolbox.specs)
        if kept is not None:
            system = kept.system
        shown = toolbox.specs if kept is None else kept.tools
        self.journal.write(self._header(provider, system, shown, limits))
        for note in (*said, *self.skills.notes):
            self.journal.write(lines.Note(note))
        if last and last.files:
            self.journal.write(
                lines.FilesChanged(0, last.files, note="the change of the run before this one")
            )
        base, wall = self.checkout.base_sha[:12], self.confinement.name
        self.job.say(f"at commit {base}, with {provider.info.name}, sandbox {wall}")
        session = Session(
            provider, system, toolbox, self.journal, limits, self.cancel,
            self.listening.hooks(),
            stop_on_denial=self.policy.on_deny == "stop",
            price=cost,
            compaction=Summaries(provider, self.archive, cost),
            identity=new_marker(),
            masking=last_request_hands_over(self.profile.results),
            before=kept.messages if kept else (), tools=shown, lent=lambda: self.models.provider,
        )  # fmt: skip
        session = self.subagents.begin(session)
        forget = self.stop.on_fire(lambda: self.cancel.fire("signal"))
        try:
            with cancelled_after(self.cancel, budget.minutes):
                end = self._converse(session, last.last if last else None, pictures)
                end = self._titled(session, end)
        finally:
            forget()
            provider.close()
        return self._conclude(end, provider.info.name)

    def _converse(
        self, session: Session, last: LastRun | None, pictures: Background[Pictures] | None
    ) -> LoopEnd:
        if self.reviewing and self.reviewing.nothing_new:
            reason = "Nothing of the diff is new since it was reviewed last."
            return LoopEnd(StopReason.END_TURN, reason, 0, Usage(), 0.0, "")
        facts = self.briefing.facts()
        if session.before:
            from bot.run.gone_on import told

            facts = facts._replace(notes=(*facts.notes, told(self.job.resume, self.job.folder.archive)))
        seen = (pictures.result() if pictures else Pictures(self.asked)).besides(session.before)
        for note in (*seen.told, *seen.left):
            self.journal.write(lines.Note(note))
        facts = facts._replace(pictures=seen.told)
        return converse(session, first_message(seen.request, facts, new_marker(), last), seen.images)

    def _titled(self, session: Session, end: LoopEnd) -> LoopEnd:
        """A change that nobody described gets a title where neither a thread nor the request has one for it."""
        if self.profile.read_only or self.job.request.thread or self.results.describe.description.title:
            return end
        from bot.agent.title import titled

        title, end = titled(session, self.job.request.wish, end)
        if title:
            self.results.describe.call_it(title)
        return end

    def _conclude(self, end: LoopEnd, model: str) -> Ended:
        from bot.run import conclude, limits_met
        from bot.run.evidence import evidence
        from bot.run.outputs import gather

        judged, dropped = self.judging.at_the_end()
        verdict = None if isinstance(judged, GateError) else judged
        changed = verdict is not None and bool(verdict.files)
        tree_sha = verdict.tree_sha if verdict and changed else None
        checks = self.rounds.results(tree_sha)
        network = self.network.used()
        for sentence in said_of(network):
            self.journal.write(lines.Note(sentence))
        review = self.reviewing.review(end.final_text) if self.reviewing else None
        handed = masked_value(self.results.handed(review), self.detector)
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
            notes=(
                *self.doubts,
                *self.job.notes,
                *self.briefing.notes(),
                *self.results.notes(),
                *dropped,
                *said_of(network),
                *limits_met.said(self.workshops.limits_met()),
            ),
            redactions=(),
            network=network,
            diagnostics=self.rounds.diagnostics(tree_sha),
            servers=self.looking_on.servers(),
            coverage=self.rounds.coverage(tree_sha),
        )
        outcome = masked(outcome, self.detector)
        ended = lines.RunEnded(
            outcome.status.value, outcome.stop_reason.value, outcome.reason, outcome.patch_sha256,
            verdict.tree_sha if verdict else "",
        )  # fmt: skip
        if not self.journal.failure:
            if told := evidence(outcome):
                self.journal.write(told)
            self.journal.write(ended)
        outputs = gather(self.job.folder, self.detector.kept)
        return Ended(
            self.checkout, self.policy, outcome, verdict, handed.plan, handed.review, handed.writes, outputs
        )

    def _header(
        self, provider: Provider, system: str, tools: tuple[ToolSpec, ...], limits: Limits
    ) -> lines.Header:
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
            tools=tools,
            limits=limits,
            sandbox=self.confinement.name,
            policy_sha="" if policy_sha == self.checkout.base_sha else policy_sha,
        )

    def _start(self, number: int) -> Workshop:
        """The agent's workshop. Where the repository had to be prepared, that is waited for here: at the first
        tool call, not before the first request."""
        workshop = self.workshops.of_agent(
            number, self.trees.read_only(), self.gatekeeper.answer, self.looking_on.asked(number)
        )
        if number == 0:
            self.trees.outfit(workshop, self.stop)
        return workshop

    def _conversation(self, system: str, tools: tuple[ToolSpec, ...]) -> tuple[Kept | None, tuple[str, ...]]:
        """The conversation that is gone on with, and what is to be noted of it."""
        if self.last is None or self.job.resume is None:
            return None, ()
        from bot.publish.bundle import JOURNAL
        from bot.run.gone_on import Now, conversation

        now = Now(self.job.request, self.model, system, tools)
        found = conversation(self.job.resume / JOURNAL, now)
        kept, said = (None, (found,)) if isinstance(found, str) else (found, found.notes)
        for note in said:
            self.job.say(note)
        return kept, said

    def _resume(self) -> Resumed | None:
        """The last run's change into the tree, before any workshop sees it."""
        if self.last is None:
            return None
        from bot.run.resume import resume

        rule = may_write(self.policy, self.job.request.actor.tier, self.asking.approved)
        return resume(self.last, self.checkout, self.job.source, rule)

    def _inspection(self) -> Callable[[], Inspection] | None:
        """What makes the checkers before and after; `None` in a run that only reads, and where policy wants none."""
        wanted = self.policy.diagnostics
        if self.profile.read_only or wanted.off or wanted.checkers == ():
            return None

        def inspection() -> Inspection:
            from bot.run.inspection import Inspection

            return Inspection(self.checkout, self.stop, wanted.checkers)

        return inspection

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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

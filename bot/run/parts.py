"""The parts of one run, each made once, and who knows whom. Nothing is started here, and only `Run` is wired to all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bot.agent.journal import Journal
from bot.checkout.clone import Checkout
from bot.checkout.git import Git
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.request import Request, Tier
from bot.contracts.tools import ToolOutcome
from bot.contracts.wording import money
from bot.environment.detected import guarded_folder
from bot.environment.folders import environment_folders
from bot.environment.placing import links
from bot.gate.detect import Detector
from bot.policy.budget import run_budget
from bot.policy.schema import Policy, SetupStep
from bot.providers.connect import adapted
from bot.run.agent_workshop import AgentWorkshop
from bot.run.archive import Archive
from bot.run.asking import Asking, let_before
from bot.run.background import Background
from bot.run.base import Preparation, checks_of, preparation_of, worded_as
from bot.run.briefing import Briefing
from bot.run.check_time import ACTIONS_MINUTES, LOCAL_MINUTES
from bot.run.covered import Covered
from bot.run.history import History
from bot.run.instructions import instructions
from bot.run.judging import Judging
from bot.run.lent import LentModels
from bot.run.listening import Listening
from bot.run.looking_on import LookingOn
from bot.run.network import Network
from bot.run.new_errors import TryInWorkshop
from bot.run.profiles import REPORT_FINDING, profile_of, without_commands
from bot.run.results import Results
from bot.run.rounds import Rounds, RoundsContext
from bot.run.server_terms import server_terms
from bot.run.skills import RunSkills
from bot.run.stop_hook import StopHook
from bot.run.store import environment_store
from bot.run.subagents import RunSubagents
from bot.run.terms import Job
from bot.run.tools import Gatekeeper, RunToolbox
from bot.run.trees import Trees
from bot.run.waits import Waits
from bot.run.workshops import Workshops
from bot.run.writing import propose_writes
from bot.sandbox.confinement import Confinement, EnvironmentFolder
from bot.skills.find import Found
from bot.workshop.client.workshop import Workshop

if TYPE_CHECKING:
    from bot.publish.bundle.read import Bundle
    from bot.run.inspection import Inspection
    from bot.run.reviewing import Reviewing
    from bot.tasks.task import Task

_NOT_PREPARED = (
    "What the checks need was not installed, since the sandbox of this run ({}) has no network. Leave the "
    "action's input setup-sandbox on, so that bubblewrap is used, or install it in an earlier step and name its folder "
    "under `bring:` in the policy."
)
_NO_SETUP = (
    "Setup was not run, since {} has no network: {}. Install bubblewrap "
    "(sudo apt-get install bubblewrap), or run this in your checkout and ask again."
)


class Run:
    """`cancel` ends the conversation, `stop` the whole run; `root` is where the model believes the work tree to be.
    `model` is the provider's name once there is one."""

    toolbox: RunToolbox
    """From the first request on."""

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
        self.stop = stop
        self.cancel = CancelToken()
        self.started_at = now()
        self.model = ""
        self._links: dict[str, str] = {}
        self.last = last
        self.root = str((job.origin if confinement.moves else None) or checkout.tree)
        self.asked = worded_as(job.request, task)
        self.tier = job.request.actor.tier
        self._offer(skills.result(), task)
        self._house(task)
        self._equip()
        self._judge()
        stack.callback(self.skills.close)
        stack.callback(self.trees.settle)
        stack.callback(self.rounds.settle)
        stack.callback(self.workshop.kill)

    def _offer(self, skills: Found, task: Task | None) -> None:
        """What the verb offers the model: skills, profile, and what it may ask to have written on GitHub."""
        job, last = self.job, self.last
        self.proposing = propose_writes(self.policy, job.request, task, self.journal.write)
        self.models = LentModels(lambda: self.model, self.policy, job.connect_named)
        self.skills = RunSkills(skills, job.folder, self.confinement, self.root, self.models)
        profile = profile_of(
            job.request, last.outcome.request.verb if last else None, writes=self.proposing is not None
        )
        self.budget = run_budget(self.policy, self.tier, job.budget_usd)
        if job.budget_usd is not None and job.budget_usd > self.budget.usd:
            note = (
                f"A budget of {money(job.budget_usd)} was asked for; the policy allows "
                f"{money(self.budget.usd)} a run, so that is the limit."
            )
            self._note(note)
        self.profile = self.skills.offered_by(
            profile if self.budget.runs_commands else without_commands(profile)
        )

    def _house(self, task: Task | None) -> None:
        """Where it is done: the workshops, the trees that commands run in, and the rounds of checks."""
        job, policy, profile, checkout = self.job, self.policy, self.profile, self.checkout
        setup, bring = (policy.setup, policy.bring) if profile.setup else ((), ())
        prepared = self._preparation()
        setup = self._possible(prepared.setup if prepared else setup)
        job = self.job
        store = environment_store(prepared, checkout, job.origin, job.environment) if prepared else None
        self.network = Network(replace(policy, setup=setup), job.request, profile, job.environment)
        self.workshops = Workshops(
            checkout, self.confinement, job.folder, str(job.origin or checkout.tree), job.environment,
            self.skills.folder, self.journal, self.network, policy.sandbox.limits,
        )  # fmt: skip
        self.trees = Trees(
            checkout, job.folder, self.workshops.of_commands, setup, bring, job.origin, job.say,
            self.network.hold_to, Background(self._own_folders, "environment").result,
            share_all=self.tier is Tier.LOCAL and profile.setup, prepared_from=prepared.sha if prepared else "",
            store=store,
        )  # fmt: skip
        minutes = policy.budget.check_minutes
        if minutes is None:
            minutes = LOCAL_MINUTES if self.tier is Tier.LOCAL else ACTIONS_MINUTES
        self.rounds = Rounds(
            () if profile.read_only else checks_of(policy, checkout, task, prepared),
            RoundsContext(
                self.trees, self.journal.write, self.stop,
                Waits(job.say, job.view, self.detector.kept), profile.unrun,
                "" if self.confinement.moves else str(job.origin or ""), self._inspection(), Covered(checkout),
                History(checkout), minutes,
            ),
        )  # fmt: skip

    def _preparation(self) -> Preparation | None:
        """The action's `prepare: auto`; it takes a sandbox that can reach registries."""
        if self.job.environment.get("SLASH_AGENT_PREPARE") != "auto" or not self.profile.setup:
            return None
        prepared = preparation_of(self.policy, self.checkout)
        if prepared is None or self.confinement.gives_way_out:
            return prepared
        self._note(_NOT_PREPARED.format(self.confinement.name))
        return None

    def _possible(self, setup: Sequence[SetupStep]) -> tuple[SetupStep, ...]:
        """The steps before the first that needs the network, if the sandbox of a local run gives none. Elsewhere such a
        step refuses the run. One that would make a folder of the checkout's needs nothing."""
        origin = self.job.origin
        if self.confinement.gives_way_out or self.tier is not Tier.LOCAL or origin is None:
            return tuple(setup)
        for number, step in enumerate(setup):
            made = guarded_folder(step.command)
            if step.egress and not (made and (origin / made).is_dir()):
                left = "; ".join(f"`{one.command}`" for one in setup[number:])
                self._note(_NO_SETUP.format(self.confinement.name, left))
                return tuple(replace(one, egress=()) for one in setup[:number])
        return tuple(replace(one, egress=()) for one in setup)

    def _note(self, text: str) -> None:
        self.job.say(text)
        self.job = replace(self.job, notes=(*self.job.notes, text))

    def _equip(self) -> None:
        """What the agent has at hand, and who is asked before it may."""
        job, policy, profile, journal = self.job, self.policy, self.profile, self.journal
        redact = self.detector.redactor.text
        self.asking = Asking(
            job.view.person if job.view else None, self.cancel, self.detector.kept,
            let_before(job.resume, job.folder.root.parent) if self.tier is Tier.LOCAL else None,
        )  # fmt: skip
        self.gatekeeper = Gatekeeper(
            policy, self.tier, self.root, journal.write, profile, self.skills.grants.why, self.asking
        )
        self.looking_on = LookingOn(
            None if profile.read_only else policy.diagnostics, journal,
            lambda: server_terms(policy, self.tier, profile),
        )  # fmt: skip
        self.workshop = AgentWorkshop(self._start, self.workshops.changed, redact, self.looking_on)
        self.archive = Archive(job.folder.archive, redact)
        self.subagents = RunSubagents(
            lambda: adapted(job.connect(), policy.models), self.workshop, self.gatekeeper, profile, journal,
            self.archive, job.say, lambda: self.toolbox.place[:2], self.skills,
        )  # fmt: skip
        self.reviewing = self._reviewing()
        reviewing = (self.reviewing.tool,) if self.reviewing else ()
        self.results = Results(
            *reviewing, *self.skills.tools, self.subagents.tool,
            propose=self.proposing, session=job.folder.root.name,
        )  # fmt: skip

    def _judge(self) -> None:
        """What the model is told at the start, and who looks at what it made."""
        job, policy, checkout, profile = self.job, self.policy, self.checkout, self.profile
        sha = checkout.policy_sha or checkout.base_sha
        told = instructions(
            checkout.git, sha, policy.agent.instructions, _near(job.request), _about(job.request)
        )
        self.briefing = Briefing(
            job.request, checkout, profile, self.root, self.rounds.checks, self.reviewing,
            self.last is not None, told, self._copies,
        )  # fmt: skip
        self.judging = Judging(
            checkout, policy, self.tier, profile, self.trees, self.workshop, self.detector.redactor,
            self.journal.write, self.asking.approved, self._links, self.gatekeeper.edited,
        )  # fmt: skip
        try_out = TryInWorkshop(self.workshops, job.folder, self.stop, job.say)
        stop_hook = StopHook(
            policy.agent.stop_hook, profile, self.results, self.rounds, self.judging, try_out,
            self.asked.instruction, self.stop, self.looking_on,
        )  # fmt: skip
        self.listening = Listening(
            self.workshop, self.rounds, self.results, self.skills, stop_hook, profile, job.watch, job.say
        )

    def _start(self, number: int) -> Workshop:
        """The agent's workshop. Where the repository had to be prepared, that is waited for here: at the first
        tool call, not before the first request."""
        workshop = self.workshops.of_agent(
            number, self.trees.outfit(), self.gatekeeper.answer, self.looking_on.asked(number)
        )
        self._links |= links(self.trees.outfit().dependencies.folders, moves=self.confinement.moves)
        self.job.folder.write_prepared(self._links, self.trees.made())
        self.trees.unpack(workshop, self.stop, home_only=number > 0)
        return workshop

    def _own_folders(self) -> tuple[EnvironmentFolder, ...]:
        """The folders of packages that the checkout has which the work tree stands for."""
        if self.job.origin is None or not (self.job.origin / ".git").exists():
            return ()
        origin = self.job.origin.resolve()
        tracked = History(self.checkout).paths()
        return environment_folders(origin, Git(origin / ".git"), tracked, self.job.environment)

    def _copies(self) -> tuple[tuple[str, str], ...]:
        """Not waited for: the first request goes out while `setup:` runs."""
        return () if self.trees.need_preparing else self.trees.outfit().dependencies.copies

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


def _about(request: Request) -> str:
    """What the request says: its own words, and what its thread is about."""
    thread = (request.thread.title, request.thread.body) if request.thread else ()
    return "\n".join((request.wish, *thread))


def now() -> str:
    """As RFC 3339 has it, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

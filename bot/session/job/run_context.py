"""`RunContext`: everything one run needs, made once by functions whose results feed each other. No process is started
here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.agent.journal import Journal
from bot.agent.writes import ProposeWrite
from bot.checkout.clone import Checkout
from bot.checkout.git import Git
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.formatting import money
from bot.contracts.model import Provider
from bot.contracts.request import Request, Tier
from bot.contracts.tools import ToolOutcome
from bot.environment.detection import guarded_folder
from bot.evidence.check import Check
from bot.gate.disguised_secrets import Detector
from bot.policy.decide import allows_commands
from bot.policy.tiers import RunBudget, run_budget
from bot.policy.values import Policy, SetupStep
from bot.session.checks.before_round import RoundsContext
from bot.session.checks.check_time import ACTIONS_MINUTES, LOCAL_MINUTES
from bot.session.checks.rounds import Rounds
from bot.session.context.base import Preparation, checks_of, preparation_of, with_task_instruction
from bot.session.context.briefing import Briefing, instructions, paths_of, text_of
from bot.session.context.git_trees import GitTrees
from bot.session.context.profiles import REPORT_FINDING, Profile, profile_of, without_commands
from bot.session.hooks.diagnostics_monitor import DiagnosticsMonitor, server_permissions
from bot.session.job.spec import RunSpec
from bot.session.progress.waits import Background, Waits
from bot.session.tools.approvals import Approvals, earlier_approvals
from bot.session.tools.result_tools import Archive, propose_writes
from bot.session.tools.skills import RunSkills, SkillModels
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.environment_store import environment_store
from bot.session.workspaces.network import Network
from bot.session.workspaces.run_gate import RunGate
from bot.session.workspaces.start import AgentStarter, Workspaces
from bot.session.workspaces.trees import Trees
from bot.skills.find import SkillSet
from bot.workspace.dependencies.folders import environment_folders
from bot.workspace.sandbox.confinement import Confinement, EnvironmentFolder

if TYPE_CHECKING:
    from bot.maintenance.task import Task
    from bot.publish.bundle.read import Bundle
    from bot.session.checks.inspection import Inspection
    from bot.session.context.review_scope import Reviewing

_NOT_PREPARED = (
    "What the checks need was not installed, since the sandbox of this run ({}) has no network. Leave the "
    "action's input setup-sandbox on, so that bubblewrap is used, or install it in an earlier step and name its folder "
    "under `bring:` in the policy."
)
_NO_SETUP = (
    "Setup was not run, since {} has no network: {}. Install bubblewrap "
    "(sudo apt-get install bubblewrap), or run this in your checkout and ask again."
)


def now() -> str:
    """The time in UTC as RFC 3339, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """A run as its base commit defines it. `cancel` ends the conversation, `stop` the whole run; `last` is the bundle
    that a `continue` starts from."""

    spec: RunSpec
    checkout: Checkout
    policy: Policy
    confinement: Confinement
    journal: Journal
    detector: Detector
    stop: CancelToken
    task: Task | None = None
    last: Bundle | None = None
    cancel: CancelToken = field(default_factory=CancelToken)
    started_at: str = field(default_factory=now)

    @property
    def tier(self) -> Tier:
        return self.spec.request.actor.tier

    @property
    def root(self) -> str:
        """The path of the work tree as the model sees it."""
        return str((self.spec.origin if self.confinement.moves else None) or self.checkout.tree)

    @property
    def budget(self) -> RunBudget:
        return run_budget(self.policy, self.tier, self.spec.budget_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """Where the commands of a run are run. `notes` are sentences for people on what is missing."""

    network: Network
    workspaces: Workspaces
    trees: Trees
    checks: tuple[Check, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """`request` has the instruction that the model is given, `notes` are sentences for the outcome, `review` is set in
    runs that review."""

    inputs: RunInputs
    request: Request
    profile: Profile
    notes: tuple[str, ...]
    skills: RunSkills
    proposals: ProposeWrite | None
    environment: RunEnvironment
    rounds: Rounds
    approvals: Approvals
    gatekeeper: Gatekeeper
    diagnostics: DiagnosticsMonitor
    workspace: AgentWorkspace
    archive: Archive
    review: Reviewing | None
    briefing: Briefing
    gate: RunGate


def run_context(inputs: RunInputs, skill_set: SkillSet, provider: Background[Provider]) -> RunContext:
    """`provider` may still be connecting. Raises `UsageError`."""
    spec, policy, journal = inputs.spec, inputs.policy, inputs.journal
    proposals = propose_writes(policy, spec.request, inputs.task, journal.write)
    models = SkillModels(lambda: provider.result().info.name, policy, spec.connect_named)
    skills = RunSkills(skill_set, spec.folder, inputs.confinement, inputs.root, models)
    profile = skills.offered_by(run_profile(inputs, writes=proposals is not None))
    environment = run_environment(inputs, profile, skills)
    notes = (*_budget_notes(inputs), *environment.notes)
    for note in notes:
        spec.say(note)
    redact = inputs.detector.redactor.text
    approvals = _approvals(inputs)
    gatekeeper = Gatekeeper(
        policy,
        inputs.tier,
        inputs.root,
        journal.write,
        profile,
        pre_approved=skills.grants.why,
        approvals=approvals,
    )
    diagnostics = DiagnosticsMonitor(
        None if profile.read_only else policy.diagnostics,
        journal,
        partial(server_permissions, policy, inputs.tier, profile),
    )
    starter = AgentStarter(
        workspaces=environment.workspaces,
        trees=environment.trees,
        answer=gatekeeper.answer,
        diagnostics=diagnostics.settings,
        moves=inputs.confinement.moves,
        stop=inputs.stop,
    )
    workspace = AgentWorkspace(starter, environment.workspaces.record_changes, redact, diagnostics)
    gate = RunGate(
        checkout=inputs.checkout,
        policy=policy,
        request=spec.request,
        profile=profile,
        trees=environment.trees,
        workspace=workspace,
        redactor=inputs.detector.redactor,
        write=journal.write,
        approved=approvals.approved,
        links=starter.links,
        edited=gatekeeper.edited,
    )
    review = _review(inputs, profile, workspace)
    return RunContext(
        inputs=inputs,
        request=with_task_instruction(spec.request, inputs.task),
        profile=profile,
        notes=(*spec.notes, *notes),
        skills=skills,
        proposals=proposals,
        environment=environment,
        rounds=_rounds(inputs, profile, environment),
        approvals=approvals,
        gatekeeper=gatekeeper,
        diagnostics=diagnostics,
        workspace=workspace,
        archive=Archive(spec.folder.archive, redact),
        review=review,
        briefing=_briefing(inputs, profile, environment, review),
        gate=gate,
    )


def _approvals(inputs: RunInputs) -> Approvals:
    spec = inputs.spec
    return Approvals(
        spec.view.person if spec.view else None,
        inputs.cancel,
        inputs.detector.masked,
        earlier_approvals(spec.resume, spec.folder.root.parent) if inputs.tier is Tier.LOCAL else None,
    )


def run_profile(inputs: RunInputs, *, writes: bool = False) -> Profile:
    """The profile of the verb, without the commands that policy and budget do not grant."""
    last = inputs.last.outcome.request.verb if inputs.last else None
    profile = profile_of(inputs.spec.request, last, writes=writes)
    granted = not profile.granted or allows_commands(inputs.policy, inputs.tier)
    return profile if inputs.budget.runs_commands and granted else without_commands(profile)


def run_environment(inputs: RunInputs, profile: Profile, skills: RunSkills | None = None) -> RunEnvironment:
    """The workspaces of a run, the trees that its commands run in, and its checks."""
    spec, policy, checkout = inputs.spec, inputs.policy, inputs.checkout
    preparation, unprepared = _preparation(inputs, profile)
    wanted, bring = (policy.setup, policy.bring) if profile.setup else ((), ())
    setup, unset = _possible_setup(inputs, preparation.setup if preparation else wanted)
    network = Network(replace(policy, setup=setup), spec.request, profile, spec.environment)
    workspaces = Workspaces(
        checkout,
        inputs.confinement,
        spec.folder,
        str(spec.origin or checkout.tree),
        spec.environment,
        skills=skills.folder if skills else None,
        journal=inputs.journal,
        network=network,
        limits=policy.sandbox.limits,
    )
    trees = Trees(
        checkout,
        spec.folder,
        workspaces.start_commands,
        setup,
        bring,
        origin=spec.origin,
        say=spec.say,
        restrict=network.restrict,
        own=Background(partial(_package_folders, spec, checkout), "environment").result,
        share_all=inputs.tier is Tier.LOCAL and profile.setup,
        prepared_from=preparation.sha if preparation else "",
        store=environment_store(preparation, checkout, spec.origin, spec.environment)
        if preparation
        else None,
    )
    checks = () if profile.read_only else checks_of(policy, checkout, inputs.task, preparation)
    return RunEnvironment(
        network=network, workspaces=workspaces, trees=trees, checks=checks, notes=(*unprepared, *unset)
    )


def checker_factory(
    policy: Policy, profile: Profile, checkout: Checkout, stop: CancelToken
) -> Callable[[], Inspection] | None:
    """What makes the checkers before and after; `None` in a run that only reads, and where the policy disables them."""
    wanted = policy.diagnostics
    if profile.read_only or wanted.off or wanted.checkers == ():
        return None

    def inspection() -> Inspection:
        from bot.session.checks.inspection import Inspection

        return Inspection(checkout, stop, wanted.checkers)

    return inspection


def _budget_notes(inputs: RunInputs) -> tuple[str, ...]:
    wanted, allowed = inputs.spec.budget_usd, inputs.budget.usd
    if wanted is None or wanted <= allowed:
        return ()
    return (
        f"A budget of {money(wanted)} was asked for; the policy allows {money(allowed)} a run, so that is the limit.",
    )


def _preparation(inputs: RunInputs, profile: Profile) -> tuple[Preparation | None, tuple[str, ...]]:
    """The action's `prepare: auto`, which takes a sandbox that can reach registries, and why there is none."""
    if inputs.spec.environment.get("SLASH_AGENT_PREPARE") != "auto" or not profile.setup:
        return None, ()
    preparation = preparation_of(inputs.policy, inputs.checkout)
    if preparation is None or inputs.confinement.supports_egress:
        return preparation, ()
    return None, (_NOT_PREPARED.format(inputs.confinement.name),)


def _possible_setup(
    inputs: RunInputs, setup: Sequence[SetupStep]
) -> tuple[tuple[SetupStep, ...], tuple[str, ...]]:
    """The steps before the first that needs the network, if the sandbox of a local run gives none, and a note on the
    others. Elsewhere such a step refuses the run. A step that would make a folder of the checkout's needs nothing."""
    origin = inputs.spec.origin
    if inputs.confinement.supports_egress or inputs.tier is not Tier.LOCAL or origin is None:
        return tuple(setup), ()
    offline = tuple(replace(step, egress=()) for step in setup)
    for number, step in enumerate(setup):
        folder = guarded_folder(step.command)
        if step.egress and not (folder and (origin / folder).is_dir()):
            left = "; ".join(f"`{one.command}`" for one in setup[number:])
            return offline[:number], (_NO_SETUP.format(inputs.confinement.name, left),)
    return offline, ()


def _package_folders(spec: RunSpec, checkout: Checkout) -> tuple[EnvironmentFolder, ...]:
    """The folders of packages in the checkout that the work tree stands for."""
    if spec.origin is None or not (spec.origin / ".git").exists():
        return ()
    origin = spec.origin.resolve()
    return environment_folders(origin, Git(origin / ".git"), GitTrees(checkout).paths(), spec.environment)


def _rounds(inputs: RunInputs, profile: Profile, environment: RunEnvironment) -> Rounds:
    spec, policy, checkout = inputs.spec, inputs.policy, inputs.checkout
    minutes = policy.budget.check_minutes
    if minutes is None:
        minutes = LOCAL_MINUTES if inputs.tier is Tier.LOCAL else ACTIONS_MINUTES
    context = RoundsContext(
        environment.trees,
        inputs.journal.write,
        inputs.stop,
        Waits(spec.say, spec.view, inputs.detector.masked),
        unrun=profile.unrun,
        origin="" if inputs.confinement.moves else str(spec.origin or ""),
        inspect=checker_factory(policy, profile, checkout, inputs.stop),
        history=GitTrees(checkout),
        minutes=minutes,
    )
    return Rounds(environment.checks, context)


def _review(inputs: RunInputs, profile: Profile, workspace: AgentWorkspace) -> Reviewing | None:
    """What a review is of; `None` in every other run."""
    if REPORT_FINDING not in profile.results:
        return None
    from bot.session.context.review_scope import Reviewing, pull_range, range_note

    spec = inputs.spec
    if spec.range is None and spec.request.pull is None:
        raise UsageError("A review is of a pull request, and there is none here.")
    review_range = spec.range or pull_range(inputs.checkout, spec.source, spec.since_sha)
    spec.say(range_note(review_range))

    def ask_host(question: str, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        return workspace.call(question, arguments, cancel, position=None)

    return Reviewing(review_range, inputs.policy.review.max_findings, ask_host)


def _briefing(
    inputs: RunInputs, profile: Profile, environment: RunEnvironment, review: Reviewing | None
) -> Briefing:
    request, checkout, trees = inputs.spec.request, inputs.checkout, environment.trees

    def copies() -> Sequence[tuple[str, str]]:
        # Not waited for: the first request goes out while `setup:` runs.
        return () if trees.need_preparing else trees.environment().dependencies.copies

    return Briefing(
        request=request,
        checkout=checkout,
        profile=profile,
        root=inputs.root,
        checks=environment.checks,
        reviewing=review,
        went_on=inputs.last is not None,
        instructions=instructions(
            checkout.git,
            checkout.policy_sha or checkout.base_sha,
            inputs.policy.agent.instructions,
            paths_of(request),
            text_of(request),
        ),
        copies=copies,
    )

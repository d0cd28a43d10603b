"""`RunContext`: everything one run needs, made once. No process is started here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from bot.agent.writes import ProposeWrite
from bot.checkout.clone import Checkout
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.formatting import money
from bot.contracts.model import Provider
from bot.contracts.request import CHECK_MINUTES, NO_CHECKS, Request, Tier
from bot.policy.values import Policy
from bot.session.checks.before_round import RoundsContext
from bot.session.checks.check_time import MINUTES
from bot.session.checks.inspection import Inspection
from bot.session.checks.rounds import Rounds
from bot.session.context.base import with_task_instruction
from bot.session.context.briefing import Briefing, instructions, paths_of, text_of
from bot.session.context.git_trees import GitTrees
from bot.session.context.review_scope import Reviewing, pull_range
from bot.session.job.run_environment import RunEnvironment, run_environment, run_profile
from bot.session.job.spec import RunInputs
from bot.session.progress.waits import Background, Waits
from bot.session.tools.approvals import Approvals, earlier_approvals
from bot.session.tools.result_tools import Archive, propose_writes
from bot.session.tools.skills import RunSkills, SkillModels
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.diagnostics_monitor import DiagnosticsMonitor, server_permissions
from bot.session.workspaces.run_gate import RunGate
from bot.session.workspaces.start import AgentStarter
from bot.session.workspaces.trees import Trees
from bot.skills.find import SkillSet
from bot.verbs.record import REPORT_FINDING, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """`request` has the instruction that the model is given; `notes` are sentences for people on what limits the run;
    `review` is set in runs that review."""

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
    proposals = propose_writes(inputs.policy, inputs.spec.request, inputs.task, inputs.journal.write)
    skills = _skills(inputs, skill_set, provider)
    profile = skills.offered_by(run_profile(inputs, writes=proposals is not None))
    environment = run_environment(inputs, profile, skills.folder)
    gatekeeper = _gatekeeper(inputs, profile, skills, _approvals(inputs))
    diagnostics = _diagnostics(inputs, profile)
    starter = _agent_starter(inputs, environment, gatekeeper, diagnostics)
    workspace = AgentWorkspace(starter, environment.workspaces.record_changes, inputs.redact, diagnostics)
    review = _review(inputs, profile, workspace)
    return RunContext(
        inputs=inputs,
        request=with_task_instruction(inputs.spec.request, inputs.task),
        profile=profile,
        notes=(*_budget_notes(inputs), *environment.notes),
        skills=skills,
        proposals=proposals,
        environment=environment,
        rounds=_rounds(inputs, profile, environment),
        approvals=gatekeeper.approvals,
        gatekeeper=gatekeeper,
        diagnostics=diagnostics,
        workspace=workspace,
        archive=Archive(inputs.spec.folder.archive, inputs.redact),
        review=review,
        briefing=_briefing(inputs, profile, environment, review),
        gate=_gate(inputs, profile, environment.trees, workspace, gatekeeper, starter.links),
    )


def _skills(inputs: RunInputs, skill_set: SkillSet, provider: Background[Provider]) -> RunSkills:
    def own_model() -> str:
        return provider.result().info.name  # waits until it is connected

    models = SkillModels(own_model, inputs.policy, inputs.spec.connect_named)
    return RunSkills(skill_set, inputs.spec.folder, inputs.confinement, inputs.root, models)


def _approvals(inputs: RunInputs) -> Approvals:
    spec = inputs.spec
    return Approvals(
        spec.view.person if spec.view else None,
        inputs.cancel,
        inputs.detector.masked,
        earlier_approvals(spec.resume, spec.folder.root.parent) if inputs.tier is Tier.LOCAL else None,
    )


def _gatekeeper(inputs: RunInputs, profile: Profile, skills: RunSkills, approvals: Approvals) -> Gatekeeper:
    return Gatekeeper(
        inputs.policy,
        inputs.tier,
        inputs.root,
        inputs.journal.write,
        profile,
        pre_approved=skills.grants.why,
        approvals=approvals,
    )


def _diagnostics(inputs: RunInputs, profile: Profile) -> DiagnosticsMonitor:
    return DiagnosticsMonitor(
        None if profile.read_only else inputs.policy.diagnostics,
        inputs.journal,
        partial(server_permissions, inputs.policy, inputs.tier, profile),
    )


def _agent_starter(
    inputs: RunInputs, environment: RunEnvironment, gatekeeper: Gatekeeper, diagnostics: DiagnosticsMonitor
) -> AgentStarter:
    return AgentStarter(
        workspaces=environment.workspaces,
        trees=environment.trees,
        answer=gatekeeper.answer,
        diagnostics=diagnostics.settings,
        moves=inputs.confinement.moves,
        stop=inputs.stop,
    )


def _gate(
    inputs: RunInputs,
    profile: Profile,
    trees: Trees,
    workspace: AgentWorkspace,
    gatekeeper: Gatekeeper,
    links: Mapping[str, str],
) -> RunGate:
    return RunGate(
        checkout=inputs.checkout,
        policy=inputs.policy,
        request=inputs.spec.request,
        profile=profile,
        trees=trees,
        workspace=workspace,
        redactor=inputs.detector.redactor,
        write=inputs.journal.write,
        approved=gatekeeper.approvals.approved,
        links=links,
        edited=gatekeeper.edited,
    )


def checker_factory(
    policy: Policy, profile: Profile, checkout: Checkout, stop: CancelToken
) -> Callable[[], Inspection] | None:
    """A function that makes the checkers before and after the change; `None` in a run that only reads, and if the
    policy disables them."""
    diagnostics = policy.diagnostics
    if profile.read_only or diagnostics.off or diagnostics.checkers == ():
        return None

    def inspection() -> Inspection:
        return Inspection(checkout, stop, diagnostics.checkers)

    return inspection


def _budget_notes(inputs: RunInputs) -> tuple[str, ...]:
    wanted, allowed = inputs.spec.budget_usd, inputs.budget.usd
    if wanted is None or wanted <= allowed:
        return ()
    return (
        f"A budget of {money(wanted)} was asked for; the policy allows {money(allowed)} a run, so that is the limit.",
    )


def _rounds(inputs: RunInputs, profile: Profile, environment: RunEnvironment) -> Rounds:
    spec, policy, checkout = inputs.spec, inputs.policy, inputs.checkout
    minutes = MINUTES if policy.budget.check_minutes is None else policy.budget.check_minutes
    if wanted := spec.request.options.get(CHECK_MINUTES):
        # In a thread the policy's own number is the most.
        is_limit = policy.budget.check_minutes is not None and inputs.tier is not Tier.LOCAL
        minutes = min(float(wanted), minutes) if is_limit else float(wanted)
    context = RoundsContext(
        environment.trees,
        inputs.journal.write,
        inputs.stop,
        Waits(spec.say, spec.view, inputs.detector.masked, inputs.stop),
        unrun=profile.unrun,
        origin="" if inputs.confinement.moves else str(spec.origin or ""),
        inspect=None
        if spec.request.options.get(NO_CHECKS) == "true"
        else checker_factory(policy, profile, checkout, inputs.stop),
        history=GitTrees(checkout),
        minutes=minutes,
    )
    return Rounds(environment.checks, context)


def _review(inputs: RunInputs, profile: Profile, workspace: AgentWorkspace) -> Reviewing | None:
    """What a review is of; `None` in every other run."""
    if REPORT_FINDING not in profile.results:
        return None
    spec = inputs.spec
    if spec.range is None and spec.request.pull is None:
        raise UsageError("A review is of a pull request, and there is none here.")
    review_range = spec.range or pull_range(inputs.checkout, spec.source, spec.since_sha)
    return Reviewing(review_range, inputs.policy.review.max_findings, partial(workspace.call, position=None))


def _briefing(
    inputs: RunInputs, profile: Profile, environment: RunEnvironment, review: Reviewing | None
) -> Briefing:
    request, checkout = inputs.spec.request, inputs.checkout
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
        not_shown=environment.not_shown,
        left_out=environment.trees.left_out,
    )

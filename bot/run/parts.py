"""`Parts`: what works for one run, each made of its `Run`. No process is started here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bot.agent.writes import ProposeWrite
from bot.checkout.clone import Checkout
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.formatting import money
from bot.contracts.model import Provider
from bot.contracts.request import CHECK_MINUTES, NO_CHECKS, Tier
from bot.policy.decide import may_write
from bot.policy.values import Policy
from bot.run.environment import RunEnvironment, run_environment
from bot.run.value import Run
from bot.session.checks.before_round import RoundsContext
from bot.session.checks.check_time import MINUTES
from bot.session.checks.inspection import Inspection
from bot.session.checks.rounds import Rounds
from bot.session.context.git_trees import GitTrees
from bot.session.context.review_scope import Reviewing, pull_range
from bot.session.progress.waits import Background, Waits
from bot.session.tools.approvals import Approvals, earlier_approvals
from bot.session.tools.result_tools import Archive, propose_writes
from bot.session.tools.skills import RunSkills, SkillModels
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.diagnostics_monitor import DiagnosticsMonitor, server_permissions
from bot.session.workspaces.run_gate import RunGate
from bot.session.workspaces.start import AgentStarter
from bot.verbs.record import REPORT_FINDING, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`workspace` is the agent's own, the others are in `environment`. `review` is set in runs that review, `proposals`
    in runs that may write on threads."""

    skills: RunSkills
    environment: RunEnvironment
    gatekeeper: Gatekeeper
    diagnostics: DiagnosticsMonitor
    workspace: AgentWorkspace
    rounds: Rounds
    archive: Archive
    gate: RunGate
    review: Reviewing | None
    proposals: ProposeWrite | None


def make_parts(run: Run, provider: Background[Provider]) -> Parts:
    """`provider` may still be connecting. Raises `UsageError`."""
    models = SkillModels(lambda: provider.result().info.name, run.policy, run.connect_named)
    skills = RunSkills(run.skills, run.folder, run.confinement, run.root, models)
    environment = run_environment(run, skills.folder)
    gatekeeper = _gatekeeper(run, skills)
    diagnostics = DiagnosticsMonitor(
        None if run.profile.read_only else run.policy.diagnostics,
        run.journal,
        partial(server_permissions, run.policy, run.tier, run.profile),
    )
    starter = AgentStarter(
        workspaces=environment.workspaces,
        trees=environment.trees,
        answer=gatekeeper.answer,
        diagnostics=diagnostics.settings,
        moves=run.confinement.moves,
        stop=run.stop,
    )
    workspace = AgentWorkspace(
        starter, environment.workspaces.record_changes, run.redact, diagnostics.take_diagnostics
    )
    return Parts(
        skills=skills,
        environment=environment,
        gatekeeper=gatekeeper,
        diagnostics=diagnostics,
        workspace=workspace,
        rounds=_rounds(run, environment),
        archive=Archive(run.folder.archive, run.redact),
        gate=_gate(run, environment, gatekeeper, starter, workspace),
        review=_review(run, workspace),
        proposals=propose_writes(run.policy, run.request, run.task, run.journal.write),
    )


def _gatekeeper(run: Run, skills: RunSkills) -> Gatekeeper:
    approvals = Approvals(
        run.view.person if run.view else None,
        run.cancel,
        run.detector.masked,
        earlier_approvals(run.resume, run.folder.root.parent) if run.tier is Tier.LOCAL else None,
    )
    return Gatekeeper(
        run.policy,
        run.tier,
        run.root,
        run.journal.write,
        run.profile,
        pre_approved=skills.grants.why,
        approvals=approvals,
    )


def _gate(
    run: Run,
    environment: RunEnvironment,
    gatekeeper: Gatekeeper,
    starter: AgentStarter,
    workspace: AgentWorkspace,
) -> RunGate:
    deletions = run.request.allows_deletions
    return RunGate(
        checkout=run.checkout,
        may_write=may_write(run.policy, run.tier, gatekeeper.approvals.approved, deletions=deletions),
        profile=run.profile,
        trees=environment.trees,
        workspace=workspace,
        redactor=run.detector.redactor,
        write=run.journal.write,
        links=starter.links,
        edited=gatekeeper.edited,
    )


def _rounds(run: Run, environment: RunEnvironment) -> Rounds:
    limit, options = run.policy.budget.check_minutes, run.request.options
    minutes = MINUTES if limit is None else limit
    if wanted := options.get(CHECK_MINUTES):
        # In a thread the policy's own number is the most.
        is_limit = limit is not None and run.tier is not Tier.LOCAL
        minutes = min(float(wanted), minutes) if is_limit else float(wanted)
    context = RoundsContext(
        environment.trees,
        run.journal.write,
        run.stop,
        Waits(run.say, run.view, run.detector.masked, run.stop),
        unrun=run.profile.unrun,
        origin="" if run.confinement.moves else str(run.origin or ""),
        inspect=None
        if options.get(NO_CHECKS) == "true"
        else checker_factory(run.policy, run.profile, run.checkout, run.stop),
        history=GitTrees(run.checkout),
        minutes=minutes,
    )
    return Rounds(environment.checks, context)


def checker_factory(
    policy: Policy, profile: Profile, checkout: Checkout, stop: CancelToken
) -> Callable[[], Inspection] | None:
    """A function that makes the checkers before and after the change; `None` in a run that only reads, and if the
    policy disables them."""
    wanted = policy.diagnostics
    if profile.read_only or wanted.off or wanted.checkers == ():
        return None
    return lambda: Inspection(checkout, stop, wanted.checkers)


def _review(run: Run, workspace: AgentWorkspace) -> Reviewing | None:
    """What a review is of; `None` in every other run."""
    if REPORT_FINDING not in run.profile.results:
        return None
    if run.range is None and run.request.pull is None:
        raise UsageError("A review is of a pull request, and there is none here.")
    review_range = run.range or pull_range(run.checkout, run.source, run.memory.head_sha)
    try_it = partial(workspace.call, position=None)
    return Reviewing(review_range, run.policy.review.max_findings, try_it, run.memory)


def budget_notes(run: Run) -> tuple[str, ...]:
    """A sentence for people where the policy allows less than was asked for."""
    wanted, allowed = run.budget_usd, run.budget.usd
    if wanted is None or wanted <= allowed:
        return ()
    return (
        f"A budget of {money(wanted)} was asked for; the policy allows {money(allowed)} a run, so that is the limit.",
    )

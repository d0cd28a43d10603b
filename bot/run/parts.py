"""`Parts`: what works for one run, each made of its `Run`. No process is started here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bot.agent.writes import ProposeWrite
from bot.contracts.background import Background
from bot.contracts.errors import UsageError
from bot.contracts.formatting import money
from bot.contracts.model import Provider
from bot.contracts.request import Tier
from bot.policy.decide import may_write
from bot.run.environment import RunEnvironment, run_environment
from bot.session.checks.inspection import inspection_of
from bot.session.checks.rounds import Rounds
from bot.session.context.review_scope import Reviewing, pull_range
from bot.session.context.run import Run
from bot.session.tools.approvals import Approvals, earlier_approvals
from bot.session.tools.result_tools import Archive, propose_writes
from bot.session.tools.skills import RunSkills, SkillModels
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.diagnostics_monitor import DiagnosticsMonitor, server_permissions
from bot.session.workspaces.run_gate import RunGate
from bot.session.workspaces.start import AgentStarter
from bot.verbs.record import REPORT_FINDING


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
    skills = RunSkills(run, models)
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
    )
    workspace = AgentWorkspace(
        starter, environment.workspaces.record_changes, run.redact, diagnostics.take_diagnostics
    )
    approved, deletions = gatekeeper.approvals.approved, run.request.allows_deletions
    gate = RunGate(
        run=run,
        may_write=may_write(run.policy, run.tier, approved, deletions=deletions),
        trees=environment.trees,
        workspace=workspace,
        links=starter.links,
        edited=gatekeeper.edited,
    )
    return Parts(
        skills=skills,
        environment=environment,
        gatekeeper=gatekeeper,
        diagnostics=diagnostics,
        workspace=workspace,
        rounds=Rounds(run, environment.trees, environment.checks, inspection_of(run)),
        archive=Archive(run.folder.archive, run.redact),
        gate=gate,
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


def _review(run: Run, workspace: AgentWorkspace) -> Reviewing | None:
    """What a review is of; `None` in every other run."""
    if REPORT_FINDING not in run.profile.results:
        return None
    if run.range is None and run.request.pull is None:
        raise UsageError("`review` needs a pull request, and this thread has none.")
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

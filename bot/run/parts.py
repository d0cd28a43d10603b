"""`Parts`: what works for one run, each made of its `Run`, and where its commands run. No process is started here."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import Git
from bot.contracts.errors import UsageError
from bot.contracts.formatting import money
from bot.contracts.request import Tier
from bot.ecosystems.record import guarded_folder
from bot.environment.detection import Detection
from bot.environment.prepared import facts, lock_files_digest
from bot.evidence.check import Check
from bot.policy.decide import allows_commands, may_write
from bot.policy.run_budget import run_budget
from bot.policy.run_settings import SetupStep
from bot.policy.values import Policy
from bot.publish.bundle.write import Bundle
from bot.session.checks.inspection import inspection_of
from bot.session.checks.rounds import Rounds
from bot.session.context.base import checks_of, chosen_checks, detected_at, detected_setup, services_of
from bot.session.context.git_trees import GitTrees
from bot.session.context.profiles import profile_of, without_commands
from bot.session.context.review_scope import Reviewing, pull_range
from bot.session.context.run import Run, RunSpec
from bot.session.tools.approvals import Approvals, earlier_approvals
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.diagnostics_monitor import DiagnosticsMonitor, refused_servers
from bot.session.workspaces.network import Network
from bot.session.workspaces.prepared_archive import UNUSED, PreparedArchive, downloaded_file
from bot.session.workspaces.run_gate import RunGate
from bot.session.workspaces.start import AgentWorkspace, Workspaces
from bot.session.workspaces.trees import Trees
from bot.skills.tool import NAME as SKILL_TOOL
from bot.skills.tool import SkillFolder, SkillTool
from bot.verbs.record import REPORT_FINDING, Profile
from bot.workspace.dependencies import environment_folders
from bot.workspace.sandbox import toolchains
from bot.workspace.sandbox.confinement import EnvironmentFolder
from bot.workspace.sandbox.toolchains import Toolchains
from bot.workspace.start import skills_path

_NOT_PREPARED = (
    "What the checks need was not installed, since the sandbox of this run ({}) has no network. Leave the "
    "action's input setup-sandbox on, so that bubblewrap is used, or install it in an earlier step and name its folder "
    "under `bring:` in the policy."
)
_OTHER_LOCKS = (
    "The lock files of this pull request differ from those of its base. Nothing was installed for it, so what needs "
    "packages cannot run here."
)
_NO_SETUP = (
    "Setup was not run, since {} has no network: {}. Install bubblewrap "
    "(sudo apt-get install bubblewrap), or run this in your checkout and ask again."
)


class RunEnvironment(NamedTuple):
    """Where the commands of a run are run. `notes` are sentences for people on what is missing; the model hears of
    `not_shown`, the tools among it, too."""

    workspaces: Workspaces
    trees: Trees
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    not_shown: tuple[str, ...]


def granted_profile(
    spec: RunSpec, policy: Policy, last: Bundle | None = None, *, writes: bool = False
) -> Profile:
    """The profile of the verb, with `skill` and without the commands that policy and budget do not grant. `last` is the
    bundle that a `continue` starts from; with `writes` the run may propose some."""
    earlier = last.outcome.request.verb if last else spec.earlier.verb if spec.earlier else ""
    profile = profile_of(spec.request, earlier, writes=writes)
    profile = replace(profile, helper_tools=(*profile.helper_tools, SKILL_TOOL))
    granted = not profile.granted or allows_commands(policy, spec.tier)
    budget = run_budget(policy, spec.tier, spec.budget_usd)
    return profile if budget.runs_commands and granted else without_commands(profile)


def run_environment(run: Run) -> RunEnvironment:
    """The workspaces of a run, the trees that its commands run in, and its checks."""
    profile, policy, checkout = run.profile, run.policy, run.checkout
    prepares = profile.setup and run.environment.get("SLASH_AGENT_PREPARE") == "auto"
    wants = (prepares and not (policy.setup or policy.bring)) or not (profile.read_only or policy.checks)
    own, sockets = run.origin if run.tier is Tier.LOCAL else None, run.confinement.supports_egress
    wanted_now = wants and not profile.unrun
    detected = detected_at(checkout, own, sockets=sockets) if wanted_now else Detection()
    archive, unused = _archive(run) if prepares and not profile.unrun else (None, ())
    prepared, unprepared = _preparation(run, detected) if prepares else ((), ())
    unprepared = () if archive else unprepared
    wanted, bring = (policy.setup, policy.bring) if profile.setup else ((), ())
    setup, unset = _possible_setup(run, prepared or wanted)
    tools = _tools(run)
    network = Network(run, setup)
    workspaces = Workspaces(run=run, network=network, tools=tools, has_setup=bool(setup or archive))
    trees = Trees(
        run,
        partial(workspaces.start, checks=True),
        setup,
        bring,
        restrict=network.restrict,
        own=tools.environments,
        prepared_from=run.base if prepared else "",
        archive=archive,
        services=services_of(policy, detected) if profile.setup and not profile.unrun else (),
    )
    every = () if profile.read_only else checks_of(policy, run.task, detected)
    unread = (f"{one.what}: {one.reason}." for one in detected.unread)
    return RunEnvironment(
        workspaces=workspaces,
        trees=trees,
        checks=chosen_checks(every, run.request.options),
        not_shown=tools.notes,
        notes=(*unused, *unprepared, *unset, *unread, *tools.notes),
    )


def _preparation(run: Run, detected: Detection) -> tuple[tuple[SetupStep, ...], tuple[str, ...]]:
    """Return the detected setup, which the action's `prepare: auto` runs in a tree of the run's base, in a sandbox that
    can reach registries; or why it does nothing."""
    steps = detected_setup(run.policy, detected)
    if not steps:
        return (), ()
    if lock_files_digest(_listing(run, run.base)) != lock_files_digest(_listing(run)):
        return (), (_OTHER_LOCKS,)
    if not run.confinement.supports_egress:
        return (), (_NOT_PREPARED.format(run.confinement.name),)
    return steps, ()


def _archive(run: Run) -> tuple[PreparedArchive | None, tuple[str, ...]]:
    """Return what the job `prepare` left, or a note on why it is not used."""
    file = downloaded_file(run.environment)
    if isinstance(file, Path) and run.confinement.moves and run.origin:
        return PreparedArchive(
            file, facts(str(run.origin), run.environment, _listing(run)), run.environment
        ), ()
    reason = file if isinstance(file, str) else f"{run.confinement.name} cannot show it at its path"
    return None, ((UNUSED.format(reason),) if reason else ())


def _listing(run: Run, sha: str = "") -> bytes:
    return run.checkout.git.run("ls-tree", "-r", "-z", sha or run.checkout.base_sha)


def _possible_setup(run: Run, setup: Sequence[SetupStep]) -> tuple[tuple[SetupStep, ...], tuple[str, ...]]:
    """The steps before the first that needs the network, if the sandbox of a local run gives none, and a note on the
    others. Elsewhere such a step refuses the run. A step that would make a folder of the checkout's needs nothing."""
    origin = run.origin
    if run.confinement.supports_egress or run.tier is not Tier.LOCAL or origin is None:
        return tuple(setup), ()
    offline = tuple(replace(step, egress=()) for step in setup)
    for number, step in enumerate(setup):
        folder = guarded_folder(step.command)
        if step.egress and not (folder and (origin / folder).is_dir()):
            left = "; ".join(f"`{one.command}`" for one in setup[number:])
            return offline[:number], (_NO_SETUP.format(run.confinement.name, left),)
    return offline, ()


def _tools(run: Run) -> Toolchains:
    """What the user's shell leads to, before the first command, and the folders of packages in the checkout that the
    work tree stands for; with notes on what is missing."""
    folders: tuple[EnvironmentFolder, ...] = ()
    if run.origin is not None and (run.origin / ".git").exists():
        origin, paths = run.origin.resolve(), GitTrees(run.checkout).paths()
        folders = environment_folders(origin, Git(origin / ".git"), paths, run.environment)
    tools = toolchains.find(run.environment, run.checkout.tree, folders, severs=run.confinement.severs)
    missing = toolchains.missing_versions(run.environment, tools.path, GitTrees(run.checkout).texts)
    return tools._replace(notes=(*tools.notes, *missing))


class Parts(NamedTuple):
    """`workspace` is the agent's own, the others are in `environment`. `review` is set in runs that review."""

    skills: SkillTool
    environment: RunEnvironment
    gatekeeper: Gatekeeper
    diagnostics: DiagnosticsMonitor
    workspace: AgentWorkspace
    rounds: Rounds
    gate: RunGate
    review: Reviewing | None


def make_parts(run: Run) -> Parts:
    """Raises `UsageError`."""
    environment = run_environment(run)
    earlier = earlier_approvals(run.resume, run.folder.root.parent) if run.tier is Tier.LOCAL else None
    approvals = Approvals(run.view.person, run.cancel, run.redactor.masked, earlier)
    gatekeeper = Gatekeeper(
        run.policy, run.tier, run.root, run.journal.write, run.profile, approvals=approvals
    )
    diagnostics = DiagnosticsMonitor(
        None if run.profile.read_only else run.policy.diagnostics,
        run.journal,
        partial(refused_servers, run.policy, run.tier, run.profile),
    )
    links: dict[str, str] = {}
    workspaces, trees = environment.workspaces, environment.trees
    start = partial(
        workspaces.start_agent,
        trees=trees,
        answer=gatekeeper.answer,
        diagnostics=diagnostics.settings,
        links=links,
    )
    workspace = AgentWorkspace(start, workspaces.record_changes, run.redact, diagnostics.take_diagnostics)
    approved, deletions = approvals.approved, run.request.allows_deletions
    gate = RunGate(
        run=run,
        may_write=may_write(run.policy, run.tier, approved, deletions=deletions),
        trees=trees,
        workspace=workspace,
        links=links,
        edited=gatekeeper.edited,
    )
    return Parts(
        skills=SkillTool(
            run.skills, SkillFolder(run.folder.skills, skills_path(run.confinement, run.folder.skills))
        ),
        environment=environment,
        gatekeeper=gatekeeper,
        diagnostics=diagnostics,
        workspace=workspace,
        rounds=Rounds(run, trees, environment.checks, inspection_of(run)),
        gate=gate,
        review=_review(run, workspace),
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

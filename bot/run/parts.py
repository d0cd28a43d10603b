"""`Parts`: the objects that do the work of one run, built from its `Run`. No tool host is started here."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import Git
from bot.contracts.errors import UsageError
from bot.contracts.formatting import money
from bot.contracts.request import Tier
from bot.ecosystems.record import guarded_folder
from bot.ecosystems.version_managers import missing_versions
from bot.environment.detection_result import Detection
from bot.environment.prepared import facts, lock_files_digest
from bot.policy.check_settings import SetupStep
from bot.policy.decide import allows_commands, may_write
from bot.policy.settings import Policy
from bot.publish.bundle import Bundle
from bot.session.checks.rounds import Rounds
from bot.session.context.base import checks_of, chosen_checks, detected_at, detected_setup, services_of
from bot.session.context.profiles import profile_of, without_commands
from bot.session.context.review_scope import Reviewing, pull_range
from bot.session.context.run import Run, RunSpec
from bot.session.tools.approvals import Approvals, approved_paths, own_recording
from bot.session.tools.result_tools import ResultTools, propose_writes
from bot.session.tools.subagents import Subagents
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.diagnostics_monitor import DiagnosticsMonitor
from bot.session.workspaces.prepared_archive import UNUSED, PreparedArchive, downloaded_file
from bot.session.workspaces.prepared_trees import Trees
from bot.session.workspaces.start_workspaces import Network, Workspaces
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
_NO_TESTS_OF_CI = (
    "CI has workflows, but none of their steps is taken as a test, only what the files suggest. "
    "`slash-agent init --dry-run` names each step and why it is left out."
)
_BUDGET = "A budget of {} was asked for; the policy allows {} a run, so that is the limit."
_NO_SETUP = (
    "Setup was not run, since {} has no network: {}. Install bubblewrap "
    "(sudo apt-get install bubblewrap), or run this in your checkout and ask again."
)


class Parts(NamedTuple):
    """`workspace` is the agent's own. `review` is set in runs that review."""

    skills: SkillTool
    results: ResultTools
    subagents: Subagents
    trees: Trees
    gatekeeper: Gatekeeper
    workspace: AgentWorkspace
    rounds: Rounds
    review: Reviewing | None


def make_parts(run: Run) -> Parts:
    """Raises `UsageError`. The run keeps sentences on what is missing."""
    wanted, allowed = run.budget_usd, run.budget.usd
    if wanted is not None and wanted > allowed:
        run.keep(_BUDGET.format(money(wanted), money(allowed)))
    detected, tools = _detected(run), _tools(run)
    trees = _trees(run, detected, tools)
    run.keep(*(f"{one.what}: {one.reason}." for one in detected.unread), *tools.notes)
    every = () if run.profile.read_only else checks_of(run.policy, run.task, detected)
    if detected.lacks_tests_of_ci and not (run.profile.read_only or run.policy.checks):
        run.keep(_NO_TESTS_OF_CI)
    checks = chosen_checks(every, run.request.options)
    approved = None
    if run.tier is Tier.LOCAL:
        approved = approved_paths(own_recording(run.resume, run.folder.root.parent))
    approvals = Approvals(run.view.person, run.cancel_conversation, run.redactor.masked, approved)
    gatekeeper = Gatekeeper(
        run.policy, run.tier, run.root, run.journal.write, run.profile, approvals=approvals
    )
    rule = may_write(run.policy, run.tier, approvals.approved, deletions=run.request.allows_deletions)
    workspace = AgentWorkspace(
        run, trees, gatekeeper.answer, DiagnosticsMonitor(run), rule, gatekeeper.edited
    )
    review, subagents = _review(run), Subagents(run, workspace, gatekeeper)
    skills = SkillTool(
        run.skills, SkillFolder(run.folder.skills, skills_path(run.confinement, run.folder.skills))
    )
    results = ResultTools(
        *((review.tool,) if review else ()),
        skills,
        subagents,
        propose=propose_writes(run.policy, run.request, run.task, run.journal.write),
        person=approvals.answer,
    )
    return Parts(skills, results, subagents, trees, gatekeeper, workspace, Rounds(run, trees, checks), review)


def granted_profile(spec: RunSpec, policy: Policy, last: Bundle | None, *, writes: bool) -> Profile:
    """The profile of the verb, with `skill` and without the commands that policy and budget do not grant. `last` is the
    bundle that a `continue` starts from; with `writes` the run may propose some."""
    profile = profile_of(spec.request, last.outcome.request.verb if last else "", writes=writes)
    profile = replace(profile, helper_tools=(*profile.helper_tools, SKILL_TOOL))
    granted = not profile.granted or allows_commands(policy, spec.tier)
    budget = policy.limits(spec.tier, spec.budget_usd)
    return profile if budget.runs_commands and granted else without_commands(profile)


def _prepares(run: Run) -> bool:
    return run.profile.setup and run.environment.get("SLASH_AGENT_PREPARE") == "auto"


def _detected(run: Run) -> Detection:
    """Return how the repository is set up and checked, if the policy does not say it all."""
    policy, profile = run.policy, run.profile
    wanted = (_prepares(run) and not (policy.setup or policy.bring)) or not (
        profile.read_only or policy.checks
    )
    if profile.unrun or not wanted:
        return Detection()
    own = run.origin if run.tier is Tier.LOCAL else None
    return detected_at(run.checkout, own, sockets=run.confinement.supports_egress)


def _trees(run: Run, detected: Detection, tools: Toolchains) -> Trees:
    """The trees that commands run in."""
    policy, sets_up = run.policy, run.profile.setup
    archive = _archive(run) if _prepares(run) else None
    prepared, why = _preparation(run, detected) if _prepares(run) else ((), "")
    if why and not archive:
        run.keep(why)
    wanted, bring = (policy.setup, policy.bring) if sets_up else ((), ())
    setup = _possible_setup(run, prepared or wanted)
    network = Network(run, setup)
    return Trees(
        run,
        Workspaces(run=run, network=network, tools=tools, has_setup=bool(setup or archive)),
        setup,
        bring,
        own=tools.environments,
        prepared_from=run.base if prepared else "",
        archive=archive,
        services=services_of(policy, detected) if sets_up else (),
    )


def _preparation(run: Run, detected: Detection) -> tuple[tuple[SetupStep, ...], str]:
    """Return the detected setup, which the action's `prepare: auto` runs in a tree of the run's base, in a sandbox that
    can reach registries; or why it does nothing."""
    steps = detected_setup(run.policy, detected)
    if steps and lock_files_digest(_listing(run, run.base)) != lock_files_digest(_listing(run)):
        return (), _OTHER_LOCKS
    if steps and not run.confinement.supports_egress:
        return (), _NOT_PREPARED.format(run.confinement.name)
    return steps, ""


def _archive(run: Run) -> PreparedArchive | None:
    """Return what the job `prepare` left; `None` if it is not used."""
    file = downloaded_file(run.environment)
    if isinstance(file, Path) and run.confinement.moves and run.origin:
        return PreparedArchive(file, facts(str(run.origin), run.environment, _listing(run)), run.environment)
    if reason := file if isinstance(file, str) else f"{run.confinement.name} cannot show it at its path":
        run.keep(UNUSED.format(reason))
    return None


def _listing(run: Run, sha: str = "") -> bytes:
    return run.checkout.git.run("ls-tree", "-r", "-z", sha or run.checkout.base_sha)


def _possible_setup(run: Run, setup: Sequence[SetupStep]) -> tuple[SetupStep, ...]:
    """Return the steps before the first that needs the network, if the sandbox of a local run gives none. Elsewhere
    such a step refuses the run. A step that would make a folder of the checkout's needs nothing."""
    origin = run.origin
    if run.confinement.supports_egress or run.tier is not Tier.LOCAL or origin is None:
        return tuple(setup)
    offline = tuple(replace(step, egress=()) for step in setup)
    for number, step in enumerate(setup):
        folder = guarded_folder(step.command)
        if step.egress and not (folder and (origin / folder).is_dir()):
            left = "; ".join(f"`{one.command}`" for one in setup[number:])
            run.keep(_NO_SETUP.format(run.confinement.name, left))
            return offline[:number]
    return offline


def _tools(run: Run) -> Toolchains:
    """What the user's shell leads to, before the first command, and the folders of packages in the checkout that the
    work tree stands for; with notes on what is missing."""
    folders: tuple[EnvironmentFolder, ...] = ()
    if run.origin is not None and (run.origin / ".git").exists():
        origin, paths = run.origin.resolve(), run.checkout.paths
        folders = environment_folders(origin, Git(origin / ".git"), paths, run.environment)
    tools = toolchains.find(run.environment, run.checkout.tree, folders, severs=run.confinement.severs)
    missing = missing_versions(run.environment, tools.path, run.checkout.texts)
    return tools._replace(notes=(*tools.notes, *missing))


def _review(run: Run) -> Reviewing | None:
    """What a review is of; `None` in every other run."""
    if REPORT_FINDING not in run.profile.results:
        return None
    if run.range is None and run.request.pull is None:
        raise UsageError("`review` needs a pull request, and this thread has none.")
    review_range = run.range or pull_range(run.checkout, run.source, run.memory.head_sha)
    return Reviewing(review_range, run.policy.review.max_findings, run.memory)

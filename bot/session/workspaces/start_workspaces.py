"""Start the workspaces of one run: those of checks and setup, and the agent's; with the hosts that they may reach."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bot.contracts.errors import UsageError
from bot.contracts.tool_descriptions import SHELL_TOOLS
from bot.policy.agent_settings import SandboxLimits
from bot.policy.check_settings import SetupStep
from bot.policy.registry_mirrors import Mirror, mirror, targets
from bot.session.context.run import Run
from bot.session.workspaces.build_caches import BuildCache
from bot.workspace.client import Answer, Question, Workspace
from bot.workspace.egress.access import CA_VARIABLES, EgressAccess
from bot.workspace.sandbox.confinement import NO_DEPENDENCIES, Dependencies
from bot.workspace.sandbox.toolchains import Toolchains
from bot.workspace.start import StartOptions

SETUP = "setup"
"""The name of the workspace in which setup's commands run."""


class CallPosition(NamedTuple):
    """The position of a call in a session; ids alone are not unique with every vendor. `agent` is the subagent's name,
    empty for the run's own. `more_edits`: further edits follow in the same answer of the model."""

    turn: int
    call_id: str
    agent: str = ""
    more_edits: bool = False


# In a subshell of its own, so that what comes after it has the usual priority; where there is no such program, or the
# sandbox lets none change its priority, nothing is changed.
_QUIETLY = "{ renice -n 10 -p $BASHPID; ionice -c 3 -p $BASHPID; } >/dev/null 2>&1\n"


def command_arguments(command: str, seconds: float, *, quiet: bool = False) -> dict[str, str | int]:
    """Arguments that run a command of the repository by itself: a `cd` in it does not carry over to the next."""
    begun = _QUIETLY if quiet else ""
    return {"command": f"(\n{begun}{command}\n)", "timeout": max(round(seconds), 1)}


_MIB = 1 << 20


class TreeEnvironment(NamedTuple):
    """The additions to a tree's commit: shared folders of packages and, read-only and copied, the folder of setup's
    other files and build caches. Commands unpack `archive`. Git does not ignore `setup_files`."""

    dependencies: Dependencies = NO_DEPENDENCIES
    setup_output: Path | None = None
    caches: tuple[BuildCache, ...] = ()
    archive: Path | None = None
    setup_files: frozenset[str] = frozenset()

    @property
    def read_only(self) -> tuple[Path, ...]:
        single = (path for path in (self.setup_output, self.archive) if path)
        return (*single, *(one.source for one in self.caches))


class Network:
    """`setup` are the steps that need the network. The environment of `run` names the workflow's mirrors and trusted
    authorities; raises `UsageError` for an invalid one. A fork's code gets no network, whoever requested the run."""

    def __init__(self, run: Run, setup: Sequence[SetupStep]) -> None:
        request, profile = run.request, run.profile
        fork = request.pull is not None and request.pull.from_fork(request.repository)
        runs = bool(set(SHELL_TOOLS).intersection(profile.tools)) and not profile.unrun
        self._presets = run.policy.tiers[run.tier].egress if runs and not fork else ()
        steps = () if fork else setup
        self._of_setup = tuple(dict.fromkeys(name for step in steps for name in step.egress))
        self._fork = fork
        self._mirrors = _mirrors(run.environment.get("SLASH_AGENT_MIRRORS", ""))
        self._authorities = _authorities(run.environment) if self._presets or self._of_setup else {}

    def access(self, name: str) -> EgressAccess | None:
        """The network for the commands of a workspace: setup has that of its steps, checks that of the agent."""
        presets = self._of_setup if name == SETUP else self._presets
        if not presets:
            return None
        return EgressAccess(tuple(presets), self._mirrors, self._authorities)

    def restrict(self, presets: Sequence[str], workspace: Workspace) -> None:
        """Let `workspace` reach no more than `presets` from now on."""
        if workspace.proxy is not None:
            workspace.proxy.targets = targets(() if self._fork else presets, self._mirrors)


@dataclass(frozen=True, kw_only=True)
class Workspaces:
    """Starts workspaces. `network` is what they may reach, `tools` are those of the user's shell. Where `has_setup`,
    HOME holds what setup downloaded and nothing of the user's."""

    run: Run
    network: Network
    tools: Toolchains
    has_setup: bool
    started: list[Workspace] = field(default_factory=list, init=False)

    def start(
        self,
        name: str,
        tree: Path,
        environment: TreeEnvironment,
        answer: Callable[[Question], Answer] = lambda question: Answer(False, "no tool asks here"),
        **options: Any,
    ) -> Workspace:
        """Start a workspace on `tree`, whose host asks `answer`. `options` are further fields of its `StartOptions`."""
        run = self.run
        start_options = StartOptions(
            tree,
            run.folder.workspace(name),
            run.environment,
            mount=str(run.origin or run.checkout.tree),
            bring=environment.read_only,
            dependencies=environment.dependencies,
            with_caches=not self.has_setup,
            tools=self.tools,
            limits=in_bytes(run.policy.sandbox.limits),
            egress=self.network.access(name),
            **options,
        )
        workspace = Workspace.start(run.confinement, start_options, answer)
        self.started.append(workspace)
        return workspace


def in_bytes(limits: SandboxLimits) -> Mapping[str, int]:
    """The policy's limits in bytes, as a tool host takes them."""
    sizes = {name: getattr(limits, name) * _MIB for name in ("memory", "file", "disk")}
    return {**sizes, "processes": limits.processes}


def _authorities(environment: Mapping[str, str]) -> dict[str, Path]:
    """The files of certificates that the machine's owner trusts, by the variables that name them."""
    named = {name: Path(environment.get(name, "")) for name in CA_VARIABLES}
    files = {name: path for name, path in named.items() if path.is_absolute() and path.is_file()}
    for name, path in files.items():
        if b"PRIVATE KEY" in path.read_bytes():
            raise UsageError(
                f"{name} names {path}, which holds a private key: the sandbox's commands could read it. Name a file "
                "that holds certificates alone."
            )
    return files


def _mirrors(named: str) -> tuple[Mirror, ...]:
    mirrors = tuple(map(mirror, named.split()))
    for preset, number in Counter(each.preset for each in mirrors).items():
        if number > 1:
            problem = f"There is more than one mirror for {preset}"
            raise UsageError(f"{problem}. A preset can have one; leave the others out.")
    return mirrors

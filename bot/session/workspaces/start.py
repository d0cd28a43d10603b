"""Start the workspaces of one run: those of checks and setup, and the agent's."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bot.policy.run_settings import SandboxLimits
from bot.session.context.run import Run
from bot.session.workspaces.build_caches import BuildCache
from bot.session.workspaces.network import Network
from bot.workspace.client import Answer, Question, Workspace
from bot.workspace.sandbox.confinement import NO_DEPENDENCIES, Dependencies
from bot.workspace.sandbox.toolchains import Toolchains
from bot.workspace.start import StartOptions


class CallPosition(NamedTuple):
    """The position of a call in a session; ids alone are not unique with every vendor. `agent` is the subagent's name,
    empty for the run's own. `more_edits`: further edits follow in the same answer of the model."""

    turn: int
    call_id: str
    agent: str = ""
    more_edits: bool = False


_MIB = 1 << 20
LIMIT_NAMES = {
    "memory": "memory",
    "processes": "processes at once",
    "disk": "what may be added to the disk",
    "file": "the size of one file",
    "open_files": "open files",
    "tmpfs": "the size of a folder in memory",
}
"""By the name in a result's `limit`."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """Starts workspaces. `network` is what they may reach, `tools` are those of the user's shell. Where `has_setup`,
    HOME holds what setup downloaded and nothing of the user's."""

    run: Run
    network: Network
    tools: Toolchains | None = None
    has_setup: bool = False
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


def limit_notes(workspaces: Iterable[Workspace]) -> tuple[str, ...]:
    """One sentence or none on the limits that commands hit; names that the tool host made up are skipped."""
    counts = Counter(name for one in workspaces for name in one.limits_met if name in LIMIT_NAMES)
    if not counts:
        return ()
    named = ", ".join(f"{LIMIT_NAMES[name]} ({count} ×)" for name, count in sorted(counts.items()))
    return (f"Commands met limits of the sandbox: {named}.",)

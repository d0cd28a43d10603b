"""Starts the workspaces of one run: the agent's, over its tree, and those of checks and setup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from bot.agent.journal import Journal, file_version
from bot.checkout.clone import Checkout
from bot.checkout.objects import blobs_at
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.tools import FileChange
from bot.policy.running import SandboxLimits
from bot.session.run_folder import RunFolder
from bot.session.workspaces.agent_workspace import CallPosition
from bot.session.workspaces.network import Network
from bot.session.workspaces.trees import TreeEnvironment, Trees
from bot.workspace.client import Answer, Question, ScanResult, Workspace
from bot.workspace.dependencies.placement import links
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.sandbox.toolchains import Toolchains
from bot.workspace.start import StartOptions

_MIB = 1 << 20
_MOST_FILES = 2_000
_MOST_BYTES = 16 * _MIB
"""Of the files that one command changed, for one line of the journal."""

LIMIT_NAMES = {
    "memory": "memory",
    "processes": "processes at once",
    "disk": "what may be added to the disk",
    "file": "the size of one file",
    "open_files": "open files",
    "tmpfs": "the size of a folder in memory",
}
"""By the name in a result's `limit`."""


@dataclass(frozen=True, slots=True)
class Workspaces:
    """Starts workspaces. `root` is the folder that each tree is mounted at, if the sandbox can; `skills` is the
    folder of loaded skills, `network` what workspaces may reach, `limits` the resource limits of commands. Where
    `has_setup`, HOME holds what setup downloaded and nothing of the user's. `tools` are those of the user's shell."""

    checkout: Checkout
    confinement: Confinement
    folder: RunFolder
    root: str
    environment: Mapping[str, str]
    _: KW_ONLY
    skills: Path | None
    journal: Journal
    network: Network
    limits: SandboxLimits
    has_setup: bool = False
    tools: Callable[[], Toolchains | None] = lambda: None
    _started: list[Workspace] = field(default_factory=list, init=False)

    def start_agent(
        self,
        number: int,
        environment_of_tree: TreeEnvironment,
        ask: Callable[[Question], Answer],
        diagnostics: Mapping[str, Any] | None = None,
    ) -> Workspace:
        """Start the agent's n-th workspace. All of them share one history of files, and HOME and temporary folder; they
        see the spilled output of those before."""
        folder = self.folder.workspace(f"agent-{number}")
        first = self.folder.home("agent-0").parent
        spilled = (self.folder.root / f"workspace-agent-{before}" / "spill" for before in range(number))
        return self._register(
            Workspace.start(
                self.confinement,
                StartOptions(
                    self.checkout.tree,
                    folder,
                    self.environment,
                    mount=self.root,
                    history=self.folder.root / "versions",
                    tmp=first if number and first.is_dir() else None,
                    with_caches=not self.has_setup,
                    tools=self.tools(),
                    bring=environment_of_tree.read_only,
                    dependencies=environment_of_tree.dependencies,
                    skills=self.skills,
                    archives=(self.folder.archive, *spilled),
                    egress=self.network.for_agent(),
                    diagnostics=diagnostics,
                    limits=in_bytes(self.limits),
                    variation=self.folder.variation,
                ),
                ask,
            )
        )

    def start_commands(
        self, name: str, tree: Path, environment_of_tree: TreeEnvironment, *, runs_nothing: bool = False
    ) -> Workspace:
        """Start a workspace for checks or setup on `tree`, whose host asks no questions. With `runs_nothing` it gets
        no network."""
        return self._register(
            Workspace.start(
                self.confinement,
                StartOptions(
                    tree,
                    self.folder.workspace(name),
                    self.environment,
                    mount=self.root,
                    bring=environment_of_tree.read_only,
                    dependencies=environment_of_tree.dependencies,
                    egress=None if runs_nothing else self.network.for_commands(name),
                    checks=True,
                    with_caches=not self.has_setup,
                    tools=self.tools(),
                    limits=in_bytes(self.limits),
                ),
                _no_questions,
            )
        )

    def limit_hits(self) -> list[str]:
        """The names of sandbox limits that commands hit so far, one for each command."""
        return [limit for workspace in self._started for limit in workspace.limits_met]

    def _register(self, workspace: Workspace) -> Workspace:
        self._started.append(workspace)
        return workspace

    def record_changes(self, position: CallPosition, scan: ScanResult) -> None:
        """Journal the files that a command changed, with their bytes at the base."""
        if not scan.files and not scan.note:
            return
        scan = within_limits(scan)
        there = [change.path for change in scan.files if change.before and not change.oversize]
        before = blobs_at(self.checkout.git, self.checkout.base_sha, there)
        versions = tuple(file_version(change, before.get(change.path)) for change in scan.files)
        record = lines.FilesChanged(position.turn, versions, position.call_id, scan.note)
        self.journal.of(position.agent).write(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarter:
    """Starts the agent's n-th workspace. `answer` decides on its writes, `diagnostics()` returns the settings of
    its language servers; `links` are those that were put into its tree: path and target."""

    workspaces: Workspaces
    trees: Trees
    answer: Callable[[Question], Answer]
    diagnostics: Callable[[], Mapping[str, Any] | None]
    moves: bool
    stop: CancelToken
    links: dict[str, str] = field(default_factory=dict, init=False)

    def __call__(self, number: int) -> Workspace:
        """Waits for what prepares the tree: at the first tool call, not before the first request."""
        environment = self.trees.environment()
        continued = bool(number) and self.workspaces.folder.home("agent-0").is_dir()
        workspace = self.workspaces.start_agent(number, environment, self.answer, self.diagnostics())
        self.links.update(links(environment.dependencies.folders, moves=self.moves))
        self.workspaces.folder.write_prepared(self.links, self.trees.setup_files())
        if not continued:
            self.trees.copy_prepared(workspace, self.stop)
        self.trees.serve_agent(workspace, self.stop)
        return workspace


def within_limits(scan: ScanResult) -> ScanResult:
    """`scan` within the journal's limits: files that existed before come first; the note counts the others."""
    files: list[FileChange] = []
    size = without = 0
    for change in sorted(scan.files, key=lambda change: change.before is None)[:_MOST_FILES]:
        size += len(change.content or b"")
        if change.content and size > _MOST_BYTES:
            without += 1
            change = change._replace(content=None, oversize=True)
        files.append(change)
    left_out = (
        scan.note,
        (more := len(scan.files) - len(files))
        and f"{more:,} more files changed, which the journal does not list",
        without and f"of {without:,} files it does not hold the contents",
    )
    return ScanResult(tuple(files), "; ".join(words for words in left_out if words))


def in_bytes(limits: SandboxLimits) -> Mapping[str, int]:
    """The policy's limits in bytes, as a tool host takes them."""
    return {
        "memory": limits.memory * _MIB,
        "processes": limits.processes,
        "file": limits.file * _MIB,
        "disk": limits.disk * _MIB,
    }


def _no_questions(question: Question) -> Answer:
    return Answer(False, f"{question.tool} is not used here")


def limit_notes(hits: Iterable[str]) -> tuple[str, ...]:
    """One sentence or none. `hits` has the name of a limit for each command that hit one, as the tool host reports it;
    unknown names are skipped."""
    counts = Counter(name for name in hits if name in LIMIT_NAMES)
    if not counts:
        return ()
    named = ", ".join(f"{LIMIT_NAMES[name]} ({count} ×)" for name, count in sorted(counts.items()))
    return (f"Commands met limits of the sandbox: {named}.",)

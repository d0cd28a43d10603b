"""Starts the workspaces of one run: the agent's, over its tree, and those of checks and setup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.checkout.objects import blobs_at
from bot.contracts import journal as lines
from bot.contracts.journal import FileVersion
from bot.policy.running import SandboxLimits
from bot.session.context.run import Run
from bot.session.workspaces.agent_workspace import CallPosition
from bot.session.workspaces.network import Network
from bot.session.workspaces.trees import TreeEnvironment, Trees
from bot.workspace.client import Answer, Question, ScanResult, Workspace
from bot.workspace.dependencies.placement import links
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


def _no_questions(question: Question) -> Answer:
    return Answer(False, f"{question.tool} is not used here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """Starts workspaces. `network` is what they may reach, `skills` the folder of loaded skills. Where `has_setup`,
    HOME holds what setup downloaded and nothing of the user's. `tools` are those of the user's shell."""

    run: Run
    network: Network
    tools: Toolchains | None = None
    skills: Path | None = None
    has_setup: bool = False
    _started: list[Workspace] = field(default_factory=list, init=False)

    def start(
        self,
        name: str,
        tree: Path,
        environment: TreeEnvironment,
        answer: Callable[[Question], Answer] = _no_questions,
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
        self._started.append(workspace)
        return workspace

    def start_commands(self, name: str, tree: Path, environment: TreeEnvironment) -> Workspace:
        """Start a workspace for checks or setup."""
        return self.start(name, tree, environment, checks=True)

    def limit_hits(self) -> list[str]:
        """The names of sandbox limits that commands hit so far, one for each command."""
        return [limit for workspace in self._started for limit in workspace.limits_met]

    def record_changes(self, position: CallPosition, scan: ScanResult) -> None:
        """Journal the files that a command changed, with their bytes at the base."""
        if not scan.files and not scan.note:
            return
        scan = within_limits(scan)
        there = [change.path for change in scan.files if change.before and not change.oversize]
        before = blobs_at(self.run.checkout.git, self.run.checkout.base_sha, there)
        versions = tuple(change._replace(before_content=before.get(change.path)) for change in scan.files)
        record = lines.FilesChanged(position.turn, versions, position.call_id, scan.note)
        self.run.journal.of(position.agent).write(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarter:
    """Starts the agent's n-th workspace. `answer` decides on its writes, `diagnostics()` returns the settings of
    its language servers; `links` are those that were put into its tree: path and target."""

    workspaces: Workspaces
    trees: Trees
    answer: Callable[[Question], Answer]
    diagnostics: Callable[[], Mapping[str, Any] | None]
    links: dict[str, str] = field(default_factory=dict, init=False)

    def __call__(self, number: int) -> Workspace:
        """Waits for what prepares the tree: at the first tool call, not before the first request."""
        run, environment = self.workspaces.run, self.trees.environment()
        folder, home = run.folder, run.folder.home("agent-0")
        continued = bool(number) and home.is_dir()
        # All share one record of shown files, HOME, temporary folder and spilled output.
        workspace = self.workspaces.start(
            f"agent-{number}",
            run.checkout.tree,
            environment,
            self.answer,
            shown=folder.root / "shown",
            tmp=home.parent if number and home.parent.is_dir() else None,
            skills=self.workspaces.skills,
            archives=(folder.archive,),
            diagnostics=self.diagnostics(),
        )
        self.links.update(links(environment.dependencies.folders, moves=run.confinement.moves))
        folder.write_prepared(self.links, self.trees.setup_files())
        if not continued:
            self.trees.copy_prepared(workspace, run.stop)
        self.trees.serve_agent(workspace, run.stop)
        return workspace


def within_limits(scan: ScanResult) -> ScanResult:
    """`scan` within the journal's limits: files that existed before come first; the note counts the others."""
    files: list[FileVersion] = []
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


def limit_notes(hits: Iterable[str]) -> tuple[str, ...]:
    """One sentence or none. `hits` has the name of a limit for each command that hit one, as the tool host reports it;
    unknown names are skipped."""
    counts = Counter(name for name in hits if name in LIMIT_NAMES)
    if not counts:
        return ()
    named = ", ".join(f"{LIMIT_NAMES[name]} ({count} ×)" for name, count in sorted(counts.items()))
    return (f"Commands met limits of the sandbox: {named}.",)

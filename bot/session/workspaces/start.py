"""The workspaces of one run: those of checks and setup, and the agent's over its tree, which starts when first needed,
is closed for the gate, and started anew after it.

Every tool call of the model passes here. After a command the tree is scanned, and the changes are journalled: the
checkpoint that a dead run is salvaged from.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bot.checkout.objects import blobs_at
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.journal import FileVersion
from bot.contracts.tools import ToolOutcome
from bot.contracts.workspace_tools import SHELL_TOOLS, WRITING
from bot.policy.run_settings import SandboxLimits
from bot.session.context.run import Run
from bot.session.workspaces.network import Network
from bot.session.workspaces.trees import TreeEnvironment, Trees
from bot.workspace.client import Answer, HostEndedError, Question, ScanResult, Workspace, WorkspaceError
from bot.workspace.dependencies import links as links_in
from bot.workspace.sandbox.toolchains import Toolchains
from bot.workspace.start import StartOptions

_MOST_FAILED_STARTS = 3
"""In a row. Nothing is ever run without the sandbox."""

_NOT_STARTED = "Nothing was run: the sandbox did not start. {} Send the call again; if it fails again, end."

_STARTED_AGAIN = (
    "{} A new one works on the same tree: what was changed is there, processes in the background are gone. "
    "Look at what is there before you send this call again, and signal "
    "no processes but your own: if the tool host ends once more, the run ends."
)


class CallPosition(NamedTuple):
    """The position of a call in a session; ids alone are not unique with every vendor. `agent` is the subagent's name,
    empty for the run's own. `more_edits`: further edits follow in the same answer of the model."""

    turn: int
    call_id: str
    agent: str = ""
    more_edits: bool = False


@dataclass(slots=True)
class AgentWorkspace:
    """One live workspace at a time, used by one thread. `start(n)` starts the n-th workspace over the agent's tree,
    from 0; `changed(call, scan)` receives what a call changed. `mask` filters what the model sees of a result;
    `take_diagnostics` takes the diagnostics out of it."""

    start: Callable[[int], Workspace]
    changed: Callable[[CallPosition, ScanResult], None]
    mask: Callable[[str], str] = lambda text: text
    take_diagnostics: Callable[[CallPosition | None, ToolOutcome], ToolOutcome] = lambda at, outcome: outcome
    starts: int = 0
    _live: Workspace | None = None
    _last: CallPosition | None = None
    _in_background: bool = False
    _failed_starts: int = 0
    _started_again: bool = False

    def open(self) -> Workspace:
        """The live workspace, started if there is none. Raises what `Workspace.start` raises."""
        if self._live is None:
            self._live = self.start(self.starts)
            self.starts += 1
        return self._live

    def call(
        self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken, *, position: CallPosition | None
    ) -> ToolOutcome:
        """Run one tool call; `position` is the model's call, `None` for a question of the supervisor.

        Edits report their own hashes. Only commands change files without reporting it, those in the background at any
        time: while there are some, each call is scanned after, and an edit before as well. A tool host that ended is
        started again, once in a run.
        """
        try:
            return self._call(tool, arguments, cancel, position)
        except HostEndedError as error:
            if self._started_again:
                raise
            self._started_again = True
            self.kill()
            return ToolOutcome(_STARTED_AGAIN.format(self.mask(str(error))), is_error=True)

    def _call(
        self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken, position: CallPosition | None
    ) -> ToolOutcome:
        try:
            live = self.open()
        except (WorkspaceError, NoSandboxError) as error:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                raise
            return ToolOutcome(_NOT_STARTED.format(self.mask(str(error))), is_error=True)
        self._failed_starts = 0
        if self._in_background and tool in WRITING and self._last is not None:
            self.changed(self._last, live.scan())
        if position is not None:
            self._last = position
        agent, more_edits = (position.agent, position.more_edits) if position else ("", False)
        outcome = live.call(tool, arguments, cancel, agent, more_edits=more_edits)
        running = outcome.metadata.get("running")
        if type(running) is int:
            self._in_background = running > 0
        if position is not None and (self._in_background or tool in SHELL_TOOLS):
            self.changed(position, live.scan())
        outcome = self.take_diagnostics(position, outcome)
        return outcome._replace(content=self.mask(outcome.content))

    def close(self) -> None:
        """End every process of the workspace; the next call starts a new one. What runs in the background ends first,
        and its last changes are recorded."""
        try:
            if self._live is not None and self._in_background and self._last is not None:
                self._live.call("bash_kill", {}, CancelToken())
                self.changed(self._last, self._live.scan())
        finally:
            self.kill()

    def kill(self) -> None:
        """End every process of the workspace at once."""
        if self._live is not None:
            live, self._live = self._live, None
            self._in_background = False
            live.close()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """Starts workspaces. `network` is what they may reach, `tools` are those of the user's shell. Where `has_setup`,
    HOME holds what setup downloaded and nothing of the user's."""

    run: Run
    network: Network
    tools: Toolchains | None = None
    has_setup: bool = False
    _started: list[Workspace] = field(default_factory=list, init=False)

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
        self._started.append(workspace)
        return workspace

    def start_agent(
        self,
        number: int,
        *,
        trees: Trees,
        answer: Callable[[Question], Answer],
        diagnostics: Callable[[], Mapping[str, Any] | None],
        links: dict[str, str],
    ) -> Workspace:
        """Start the agent's n-th workspace. Waits for what prepares its tree: at the first tool call, not before the
        first request. `answer` decides on its writes, `diagnostics()` returns the settings of its language servers;
        `links` takes those that are put into its tree: path and target."""
        run, environment = self.run, trees.environment()
        folder, home = run.folder, run.folder.home("agent-0")
        continued = bool(number) and home.is_dir()
        # All share one record of shown files, HOME, temporary folder and spilled output.
        workspace = self.start(
            f"agent-{number}",
            run.checkout.tree,
            environment,
            answer,
            shown=folder.root / "shown",
            tmp=home.parent if number and home.parent.is_dir() else None,
            skills=folder.skills,
            archives=(folder.archive,),
            diagnostics=diagnostics(),
        )
        links.update(links_in(environment.dependencies.folders, moves=run.confinement.moves))
        folder.write_prepared(links, trees.setup_files())
        if not continued:
            trees.copy_prepared(workspace, run.stop)
        trees.serve_agent(workspace, run.stop)
        return workspace

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
        self.run.journal.write(record, position.agent)


def within_limits(scan: ScanResult) -> ScanResult:
    """`scan` within the journal's limits: files that existed before come first; the note counts the others."""
    files: list[FileVersion] = []
    size = without = 0
    for change in sorted(scan.files, key=lambda change: change.before is None)[:_MOST_FILES]:
        size += len(change.content or b"")
        if change.content and size > _MOST_BYTES:
            without += 1
            change = change._replace(content=None)
        files.append(change)
    more = len(scan.files) - len(files)
    notes = (
        scan.note,
        f"{more:,} more files changed, which the journal does not list" if more else "",
        f"of {without:,} files it does not hold the contents" if without else "",
    )
    return ScanResult(tuple(files), "; ".join(filter(None, notes)))


def in_bytes(limits: SandboxLimits) -> Mapping[str, int]:
    """The policy's limits in bytes, as a tool host takes them."""
    sizes = {name: getattr(limits, name) * _MIB for name in ("memory", "file", "disk")}
    return {**sizes, "processes": limits.processes}


def limit_notes(hits: Iterable[str]) -> tuple[str, ...]:
    """One sentence or none. `hits` has the name of a limit for each command that hit one, as the tool host reports it;
    unknown names are skipped."""
    counts = Counter(name for name in hits if name in LIMIT_NAMES)
    if not counts:
        return ()
    named = ", ".join(f"{LIMIT_NAMES[name]} ({count} ×)" for name, count in sorted(counts.items()))
    return (f"Commands met limits of the sandbox: {named}.",)

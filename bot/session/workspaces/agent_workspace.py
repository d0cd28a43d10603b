"""The agent's workspace, which starts when first needed, is closed for the gate, and started anew after it.

Every call of a tool of the sandbox passes here. After a command the tree is scanned, and the changes are journalled.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from bot.checkout.objects import blobs_at
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError, GateError, NoSandboxError
from bot.contracts.journal import FileVersion
from bot.contracts.tool_descriptions import READING, SHELL_TOOLS, WRITING
from bot.contracts.tools import ToolArguments, ToolOutcome
from bot.gate.judge import Verdict, judge_tree
from bot.policy.protected_files import MayWrite
from bot.session.context.run import Run
from bot.session.workspaces.diagnostics_monitor import DiagnosticsMonitor
from bot.session.workspaces.prepared_trees import Trees
from bot.session.workspaces.start_services import ServiceError, start_services
from bot.session.workspaces.start_workspaces import CallPosition
from bot.workspace.client import Answer, HostEndedError, Question, ScanResult, Workspace, WorkspaceError
from bot.workspace.dependencies import links as links_in

_MOST_FAILED_STARTS = 3
"""In a row. Nothing is ever run without the sandbox."""

_NOT_STARTED = "Nothing was run: the sandbox did not start. {} Send the call again; if it fails again, end."

_STARTED_AGAIN = (
    "{} A new one works on the same tree: what was changed is there, processes in the background are gone. "
    "Look at what is there before you send this call again, and signal "
    "no processes but your own: if the tool host ends once more, the run ends."
)

_MOST_FILES = 2_000
_MOST_BYTES = 16 << 20
"""Of the files that one command changed, for one line of the journal."""


@dataclass
class AgentWorkspace:
    """One live workspace over the agent's tree at a time, used by one thread. `answer` decides on the writes of its
    tools, `may_write` on those in the patch. `edited` are the paths that edit tools wrote, `links` those in the tree
    that are ours, path and target; both grow while the run goes on."""

    run: Run
    trees: Trees
    answer: Callable[[Question], Answer]
    diagnostics: DiagnosticsMonitor
    may_write: MayWrite
    edited: Collection[str]
    links: dict[str, str] = field(default_factory=dict)
    starts: int = 0
    _live: Workspace | None = None
    _last: CallPosition | None = None
    _in_background: bool = False
    _failed_starts: int = 0
    _lacks_caches: bool = True
    _is_ready: bool = False
    """Whether caches and services are there for the live workspace."""
    _started_again: bool = False
    _verdict: Verdict | GateError | None = None
    """On the tree since the last workspace ended."""

    def open(self) -> Workspace:
        """The live workspace, started if there is none. Raises what `Workspace.start` raises."""
        if self._live is None:
            self._live, self._verdict = self._start(), None
            self.starts += 1
        return self._live

    def _start(self) -> Workspace:
        """Waits for what prepares the tree: at the first tool call, not before the first request. Only what setup left
        is copied here: reading waits neither for caches nor for services."""
        run, trees, environment = self.run, self.trees, self.trees.environment()
        folder, home = run.folder, run.folder.home("agent-0")
        self._lacks_caches, self._is_ready = self._lacks_caches or not home.is_dir(), False
        # All share one record of shown files, HOME, temporary folder and spilled output.
        workspace = trees.workspaces.start(
            f"agent-{self.starts}",
            run.checkout.tree,
            environment,
            self.answer,
            shown=folder.root / "shown",
            tmp=home.parent if self.starts and home.parent.is_dir() else None,
            skills=folder.skills,
            archives=(folder.archive,),
            diagnostics=self.diagnostics.settings(),
        )
        self.links.update(links_in(environment.dependencies.folders, moves=run.confinement.moves))
        folder.write_prepared(self.links, environment.setup_files)

        if environment.setup_output:
            self._make_ready(workspace)
        return workspace

    def _make_ready(self, workspace: Workspace) -> None:
        """Copy caches and start services, before the first call that does more than read."""
        if self._is_ready:
            return
        self._is_ready = True
        if self._lacks_caches:
            self.trees.copy_prepared(workspace, self.run.cancel_run, self.trees.environment())
            self._lacks_caches = False
        try:
            start_services(workspace, self.trees.services, self.run.cancel_run)
        except ServiceError as error:  # the agent works on, and checks tell of it
            self.run.say(f"warning: {error}")

    def call(
        self, tool: str, arguments: ToolArguments, cancel: CancelToken, position: CallPosition
    ) -> ToolOutcome:
        """Run one tool call of the model, the one at `position`.

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
            return ToolOutcome(_STARTED_AGAIN.format(self.run.redact(str(error))), is_error=True)

    def _call(
        self, tool: str, arguments: ToolArguments, cancel: CancelToken, position: CallPosition
    ) -> ToolOutcome:
        try:
            live = self.open()
        except (WorkspaceError, NoSandboxError) as error:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                raise
            return ToolOutcome(_NOT_STARTED.format(self.run.redact(str(error))), is_error=True)
        self._failed_starts = 0
        if self._in_background and tool in WRITING and self._last is not None:
            self.record_changes(self._last, live.scan())
        self._last = position
        if tool not in READING:
            self._make_ready(live)
        outcome = live.call(tool, arguments, cancel, position.agent, more_edits=position.more_edits)
        running = outcome.metadata.get("running")
        if type(running) is int:
            self._in_background = running > 0
        if self._in_background or tool in SHELL_TOOLS:
            self.record_changes(position, live.scan())
        outcome = self.diagnostics.take_diagnostics(position, outcome)
        return outcome._replace(content=self.run.redact(outcome.content))

    def close(self) -> None:
        """End every process of the workspace; the next call starts a new one. What runs in the background ends first,
        and its last changes are recorded."""
        try:
            if self._live is not None and self._in_background and self._last is not None:
                self._live.call("bash_kill", {}, CancelToken())
                self.record_changes(self._last, self._live.scan())
        finally:
            self.kill()

    def kill(self) -> None:
        """End every process of the workspace at once."""
        if self._live is not None:
            live, self._live = self._live, None
            self._in_background = False
            live.close()

    def close_and_judge(self) -> Verdict | GateError:
        """End every process of the workspace, then return the gate's verdict on the tree, or its refusal."""
        try:
            self.close()
        except AgentError as error:
            # The checkpoint is incomplete; the tree is what counts, and every process is dead all the same.
            self.run.note(f"The last look for changed files failed: {error}")
        if self._verdict is None:
            try:
                self._verdict = judge_tree(
                    self.run.checkout,
                    may_write=self.may_write,
                    setup_files=() if self.trees.setup_failure() else self.trees.environment().setup_files,
                    holds_secret=self.run.redactor.holds_secret,
                    links=self.links,
                    edited=self.edited,
                )
            except GateError as error:
                self._verdict = error
        return self._verdict

    def record_changes(self, position: CallPosition, scan: ScanResult) -> None:
        """Journal the files that a command changed, with their bytes at the base."""
        if not scan.files and not scan.note:
            return
        scan = within_limits(scan)
        there = [change.path for change in scan.files if change.before is not None and not change.oversize]
        before = blobs_at(self.run.checkout.git, self.run.checkout.base_sha, there)
        versions = (change._replace(before_content=before.get(change.path)) for change in scan.files)
        # A file that was only written again, as the run found it, did not change.
        changed = tuple(
            one
            for one in versions
            if one.before != "" or one.content is None or one.content != one.before_content
        )
        record = lines.FilesChanged(position.turn, changed, position.call_id, scan.note)
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

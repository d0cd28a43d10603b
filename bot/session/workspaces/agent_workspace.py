"""The agent's own workspace: started when first needed, closed for the gate, started anew after it.

Every tool call of the model passes here. After a command the tree is scanned,
and the changes are journalled: the checkpoint that a dead run is salvaged from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.tools import ToolOutcome
from bot.contracts.workspace_tools import SHELL_TOOLS, WRITING
from bot.workspace.client import HostEndedError, ScanResult, Workspace, WorkspaceError

_MOST_FAILED_STARTS = 3
"""In a row. Nothing is ever run without the sandbox."""

_NOT_STARTED = "Nothing was run: the sandbox did not start. {} Send the call again; if it fails again, end."

_STARTED_AGAIN = (
    "{} A new one works on the same tree: what was changed is there, processes in the background are gone. "
    "Look at what is there before you send this call again, and signal "
    "no processes but your own: if the tool host ends once more, the run ends."
)

Start = Callable[[int], Workspace]
"""`start(n)`: the n-th workspace of this run over the agent's tree, counted from 0."""


class CallPosition(NamedTuple):
    """The position of a call in a session; ids alone are not unique with every vendor. `agent` is the subagent's name,
    empty for the run's own. `more_edits`: further edits follow in the same answer of the model."""

    turn: int
    call_id: str
    agent: str = ""
    more_edits: bool = False


RecordChanges = Callable[[CallPosition, ScanResult], None]
"""`changed(call, scan)`: that call changed these files."""


TakeDiagnostics = Callable[[CallPosition | None, ToolOutcome], ToolOutcome]
"""Return the outcome of a call without its diagnostics."""


class AgentWorkspace:
    """One live workspace at a time. Calls from the loop's thread and from subagents run one after another."""

    def __init__(
        self,
        start: Start,
        changed: RecordChanges,
        mask: Callable[[str], str] = lambda text: text,
        take_diagnostics: TakeDiagnostics = lambda position, outcome: outcome,
    ) -> None:
        """`mask` filters what the model sees of a result; `take_diagnostics` the diagnostics of it."""
        self._start = start
        self._mask = mask
        self._take_diagnostics = take_diagnostics
        self._changed = changed
        self._live: Workspace | None = None
        self._last: CallPosition | None = None
        self._in_background = False
        self._failed_starts = 0
        self._started_again = False
        self._turn = threading.RLock()
        self.starts = 0

    def open(self) -> Workspace:
        """The live workspace, started if there is none. Raises what `Workspace.start` raises."""
        if self._live is None:
            self._live = self._start(self.starts)
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
        with self._turn:
            try:
                return self._call(tool, arguments, cancel, position)
            except HostEndedError as error:
                if self._started_again:
                    raise
                self._started_again = True
                self.kill()
                return ToolOutcome(_STARTED_AGAIN.format(self._mask(str(error))), is_error=True)

    def _call(
        self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken, position: CallPosition | None
    ) -> ToolOutcome:
        try:
            live = self.open()
        except (WorkspaceError, NoSandboxError) as error:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                raise
            return ToolOutcome(_NOT_STARTED.format(self._mask(str(error))), is_error=True)
        self._failed_starts = 0
        if self._in_background and tool in WRITING and self._last is not None:
            self._changed(self._last, live.scan())
        if position is not None:
            self._last = position
        agent, more_edits = (position.agent, position.more_edits) if position else ("", False)
        outcome = live.call(tool, arguments, cancel, agent, more_edits=more_edits)
        running = outcome.metadata.get("running")
        if type(running) is int:
            self._in_background = running > 0
        if position is not None and (self._in_background or tool in SHELL_TOOLS):
            self._changed(position, live.scan())
        outcome = self._take_diagnostics(position, outcome)
        return outcome._replace(content=self._mask(outcome.content))

    def close(self) -> None:
        """End every process of the workspace; the next call starts a new one. What runs in the background ends first,
        and its last changes are recorded."""
        try:
            if self._live is not None and self._in_background and self._last is not None:
                self._live.call("bash_kill", {}, CancelToken())
                self._changed(self._last, self._live.scan())
        finally:
            self.kill()

    def kill(self) -> None:
        """End every process of the workspace at once."""
        if self._live is not None:
            live, self._live = self._live, None
            self._in_background = False
            live.close()

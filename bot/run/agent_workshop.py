"""The agent's own workshop over a run: started when first needed, closed for the gate, started anew after it.

Every tool call of the model goes through here. After a command the tree is scanned, while the model thinks or
before the next call, and what the command changed is handed on: the checkpoint that a dead run is salvaged from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.room import when_there_is_room
from bot.contracts.tools import ToolOutcome
from bot.run.profiles import SHELL_TOOLS, WRITING
from bot.workshop.client.workshop import ScanResult, Workshop, WorkshopError

_MOST_FAILED_STARTS = 3
"""In a row. Nothing is ever run without the sandbox in its place."""

_NOT_STARTED = "Nothing was run: the sandbox did not start. {} Send the call again; if it fails again, end."

Start = Callable[[int], Workshop]
"""`start(n)`: the n-th workshop of this run over the agent's tree, counted from 0."""


class CallPlace(NamedTuple):
    """Which call of a session: ids alone are a vendor's promise, and some break it. `agent` is the subagent's name,
    empty for the run's own. `more_edits`: the same answer of the model goes on to edit."""

    turn: int
    call_id: str
    agent: str = ""
    more_edits: bool = False


Changed = Callable[[CallPlace, ScanResult], None]
"""`changed(call, scan)`: that call changed these files."""


class LookingOn(Protocol):
    def hear(self, place: CallPlace | None, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome of a call, without what was found in what it changed."""
        ...

    def ended(self, metadata: Mapping[str, Any]) -> None:
        """What a tool host says at its end."""
        ...


class AgentWorkshop:
    """One live workshop at a time. Calls come from the loop's thread and those of subagents, and are done in turn;
    scans are collected on a thread of their own."""

    def __init__(
        self,
        start: Start,
        changed: Changed,
        mask: Callable[[str], str] = lambda text: text,
        looking_on: LookingOn | None = None,
    ) -> None:
        """`mask` is what the model may see of a result's words; `looking_on` hears what is found in what changed."""
        self._start = start
        self._mask = mask
        self._looking_on = looking_on
        self._changed = changed
        self._live: Workshop | None = None
        self._collector: threading.Thread | None = None
        self._failure: Exception | None = None
        self._unscanned: CallPlace | None = None
        self._last: CallPlace | None = None
        self._in_background = False
        self._failed_starts = 0
        self._turn = threading.RLock()
        self.starts = 0

    def open(self) -> Workshop:
        """The live workshop, started if there is none. Raises what `Workshop.start` raises."""
        if self._live is None:
            self._live = self._start(self.starts)
            self.starts += 1
        return self._live

    def call(
        self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken, *, place: CallPlace | None
    ) -> ToolOutcome:
        """Run one tool call; `place` says which of the model's it is, `None` that it is a question of our own.

        Edits report their own hashes. Only commands change files without saying so, those in the background at any
        time: while there are some, each call is scanned after, and an edit before as well.
        """
        with self._turn:
            return self._call(tool, arguments, cancel, place)

    def _call(
        self, tool: str, arguments: Mapping[str, Any], cancel: CancelToken, place: CallPlace | None
    ) -> ToolOutcome:
        self.scan_meanwhile()
        self._settle()
        try:
            live = self.open()
        except (WorkshopError, NoSandboxError) as error:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                raise
            return ToolOutcome(_NOT_STARTED.format(self._mask(str(error))), is_error=True)
        self._failed_starts = 0
        if self._in_background and tool in WRITING and self._last is not None:
            self._changed(self._last, live.scan())
        if place is not None:
            self._last = place
            self._unscanned = place if self._in_background or tool in SHELL_TOOLS else None
        agent, more_edits = (place.agent, place.more_edits) if place else ("", False)
        outcome = live.call(tool, arguments, cancel, agent, more_edits=more_edits)
        running = outcome.metadata.get("running")
        if type(running) is int:
            self._in_background = running > 0
        if self._looking_on is not None:
            outcome = self._looking_on.hear(place, outcome)
        return replace(outcome, content=self._mask(outcome.content))

    def scan_meanwhile(self) -> None:
        """Begin to look for what the last command changed, if it was not looked for yet; at once back."""
        if self._live is None or self._unscanned is None:
            return
        collector = threading.Thread(
            target=self._collect, args=(self._live, self._unscanned), name="scan", daemon=True
        )
        when_there_is_room(collector.start)
        self._collector, self._unscanned = collector, None

    def close(self) -> None:
        """Scan a last time, then end every process of the workshop. The next call starts a new one."""
        try:
            self._settle()  # first, so that what was found before is told before
            if self._live is not None and self._in_background:
                # So that nothing changes after the scan.
                self._live.call("bash_kill", {}, CancelToken())
                self._unscanned = self._last
            self.scan_meanwhile()
            self._settle()
            if self._live is not None and self._looking_on is not None:
                with suppress(WorkshopError):  # what it found is known, but for how it stands
                    self._looking_on.ended(self._live.call("standing", {}, CancelToken()).metadata)
        finally:
            self.kill()

    def kill(self) -> None:
        """End every process of the workshop at once."""
        if self._live is not None:
            live, self._live = self._live, None
            self._in_background = False
            live.close()

    def _settle(self) -> None:
        """Wait for a scan that is under way; raises what made it fail."""
        if self._collector is not None:
            self._collector.join()
            self._collector = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _collect(self, live: Workshop, place: CallPlace) -> None:
        try:
            self._changed(place, live.scan())
        except Exception as error:  # noqa: BLE001 - carried to the loop's thread and raised there
            self._failure = error

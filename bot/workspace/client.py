"""The supervisor's client of a tool host: starts it in the sandbox, calls its tools, answers its questions.

It never opens a file of the work tree. A frame that is unexpected, too large, late or malformed ends the workspace
with one sentence.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.contracts.journal import FileVersion
from bot.contracts.journal import Question as Question
from bot.contracts.tools import Answer as Answer
from bot.contracts.tools import ToolArguments, ToolOutcome
from bot.contracts.wire import Frame, WireError
from bot.workspace import frames, start
from bot.workspace.frames import Facts
from bot.workspace.process import Host
from bot.workspace.process import HostEndedError as HostEndedError
from bot.workspace.process import WorkspaceError as WorkspaceError
from bot.workspace.sandbox.confinement import Confinement
from bot.workspace.sandbox.remedies import HOW_TO_FIX
from bot.workspace.start import StartOptions, make_folders, plan_start

if TYPE_CHECKING:
    from bot.workspace.egress.proxy import Proxy

Ask = Callable[[Question], Answer]

_SEND_LIMIT = 30.0
_SCAN_LIMIT = 120.0
_TOOL_LIMIT = 120.0
"""Seconds for a tool call without a `timeout` argument."""

_MARGIN = 15.0
_CANCEL_LIMIT = 10.0
"""Seconds: well above what the host takes for the worst command, which ignores SIGTERM (`TERM_GRACE`, 2 s) and stops
its subreaper (`_SWEEP_LIMIT`, 5 s)."""

_MAX_QUESTIONS = 1000
_MAX_SCANNED = 500_000
_MAX_SCANNED_BYTES = 128 * 1024 * 1024


class ScanResult(NamedTuple):
    """The files that changed since the last scan or edit. `note` says what is missing."""

    files: tuple[FileVersion, ...]
    note: str = ""


class Workspace:
    """One running tool host. Calls and scans may come from different threads and run one after the other; `close` may
    be called from any thread at any time. After it, or after a `WorkspaceError` from any method, every process is
    dead."""

    def __init__(
        self, host: Host, facts: Facts, options: StartOptions, start_message: Frame, ask: Ask
    ) -> None:
        """Use `Workspace.start`."""
        self.dependencies = options.dependencies
        self.facts = facts
        self.root = str(start_message["root"])
        """The path of the tree inside."""
        self.proxy: Proxy | None = None
        self._host = host
        self._channel = host.channel
        self._ask = ask
        self._spill = str(start_message["spill"])
        self._turn = threading.RLock()
        self._ending = threading.Lock()
        self._ended = ""
        self._numbers = count(1)
        self._limits_met: dict[str, str] = {}

    @classmethod
    def start(cls, confinement: Confinement, options: StartOptions, ask: Ask) -> Workspace:
        """Start a host and check with canaries that it is confined.

        Raises `NoSandboxError` without a sandbox, or with one that cannot give the egress, and `WorkspaceError` when
        the host does not start.
        """
        folders = make_folders(options.folder, options.shown, options.tmp)
        egress = options.egress
        if egress is not None and not confinement.supports_egress:
            raise NoSandboxError(
                f"The policy gives this run egress ({', '.join(egress.presets)}), and the sandbox used here "
                f"({confinement.name}) has none. {HOW_TO_FIX}"
            )
        mounts, start_message = plan_start(confinement, options, folders)
        host = start.start_host(confinement, mounts)
        try:
            facts = start.handshake(confinement, host, start_message, folders)
            workspace = cls(host, facts, options, start_message, ask)
            first = host.first_inside()
            workspace.proxy = egress.open(first) if egress and confinement.confines else None
        except WireError as error:
            words = host.last_words()
            host.end()
            if not confinement.confines or (confinement.moves and words and not words.startswith("bwrap:")):
                raise WorkspaceError(f"The tool host did not start: {words or error}.") from error
            step = words.removeprefix("bwrap:").strip() or str(error)
            raise NoSandboxError(
                f"The sandbox ({confinement.name}) could not be started: {step}. {HOW_TO_FIX}"
            ) from error
        except BaseException:
            host.end()
            raise
        return workspace

    def call(
        self,
        tool: str,
        arguments: ToolArguments,
        cancel: CancelToken,
        agent: str = "",
        *,
        printed: Callable[[str], None] | None = None,
        more_edits: bool = False,
    ) -> ToolOutcome:
        """Run one tool. A fired `cancel` makes the host stop and answer at once. Raises `WorkspaceError`.

        What is shown to `agent`, a subagent, does not count as shown. `printed` receives the last line of a command's
        output while it runs, at most once a second; the line is untrusted. With `more_edits` another edit follows at
        once: diagnostics wait for the last.
        """
        with self._turn:
            identity = next(self._numbers)
            call = {
                "type": "call",
                "id": identity,
                "tool": tool,
                "arguments": dict(arguments),
                "agent": agent,
                "echo": printed is not None,
                "more_edits": more_edits,
            }
            self._send(call)
            try:
                seconds = float(arguments.get("timeout") or _TOOL_LIMIT) + _MARGIN
                outcome = self._await_result(identity, time.monotonic() + seconds, cancel, printed)
                if (limit := outcome.metadata.get("limit")) and isinstance(limit, str):
                    # By the file of the command's output: a background command has several results.
                    self._limits_met[str(outcome.metadata.get("spill"))] = limit
                return outcome
            except WireError as error:
                raise self._fail(f"during {tool}", error) from error
            except BaseException:
                self.close()  # `ask` raised, or a KeyboardInterrupt: the call cannot be finished
                raise

    @property
    def limits_met(self) -> Collection[str]:
        """For each command that reached a limit of the sandbox its name, as the host reports it."""
        return self._limits_met.values()

    def scan(self) -> ScanResult:
        """Have the host search the files that changed since the last scan or edit. Raises `WorkspaceError`."""
        with self._turn:
            identity = next(self._numbers)
            self._send({"type": "scan", "id": identity})
            deadline, files = time.monotonic() + _SCAN_LIMIT, list[FileVersion]()
            size, done, note = 0, False, ""
            try:
                while not done:
                    some, done, note = frames.changes(self._channel.receive(deadline), identity)
                    files += some
                    size += sum(len(change.content or b"") for change in some)
                    if len(files) > _MAX_SCANNED or size > _MAX_SCANNED_BYTES:
                        raise WireError("it reports changed files without end")
                return ScanResult(tuple(files), note)
            except WireError as error:
                raise self._fail("during a scan", error) from error

    @property
    def closed(self) -> bool:
        """Whether every process of the workspace is dead."""
        with self._ending:
            return bool(self._ended)

    def close(self) -> None:
        """End every process of the workspace and wait until they are gone. May be called again."""
        self._end("The workspace is closed.")

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_result(
        self, identity: int, deadline: float, cancel: CancelToken, printed: Callable[[str], None] | None
    ) -> ToolOutcome:
        questions, cancelled = 0, False
        while True:
            frame = self._channel.receive(deadline, None if cancelled else cancel)
            if not frame:
                cancelled = True
                self._send({"type": "cancel", "id": identity})
                deadline = min(deadline, time.monotonic() + _CANCEL_LIMIT)
            elif frame.get("type") == "printed" and printed is not None:
                printed(frames.printed(frame, identity))
            elif frame.get("type") == "ask":
                questions += 1
                if questions > _MAX_QUESTIONS:
                    raise WireError("it asks without end")
                asked_at = time.monotonic()
                answer = self._ask(frames.question(frame, identity))
                deadline += time.monotonic() - asked_at  # a person may think as long as they like
                self._send({"type": "answer", "id": identity, "allow": answer.allow, "reason": answer.reason})
            else:
                outcome = frames.outcome(frame, identity)
                if (spill := outcome.metadata.get("spill")) is not None:  # it is read later by name
                    folder, _, name = str(spill).rpartition("/")
                    if folder != self._spill or name in ("", ".", ".."):
                        raise WireError("it named a spill file outside its folder")
                if self._ended:  # closed meanwhile: what it says is only that it was stopped
                    raise WorkspaceError(self._ended)
                return outcome

    def _send(self, message: Frame) -> None:
        if self._ended:
            raise WorkspaceError(self._ended)
        try:
            self._channel.send(message, time.monotonic() + _SEND_LIMIT)
        except WireError as error:
            raise self._fail(f"when it was sent a {message['type']}", error) from error

    def _fail(self, when: str, error: WireError) -> WorkspaceError:
        if closed := self._ended:
            self._end(closed)
            return WorkspaceError(closed)
        with self._ending:
            words = "" if self._ended else self._host.last_words()
        reason = f"{error} ({words})" if words else str(error)
        sentence = f"The tool host failed {when}: {reason}. It and all its processes were ended."
        self._end(sentence)
        return HostEndedError(sentence)

    def _end(self, why: str) -> None:
        with self._ending:
            if not self._ended:
                self._ended = why
                self._host.kill()
                if self.proxy is not None:
                    self.proxy.close()
        # A thread that waits for the host sees the end of the pipe and releases the lock.
        with self._turn:
            self._channel.close()

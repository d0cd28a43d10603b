"""Serve calls and scans one after the other, in the order in which they arrive, and handle the messages that arrive
meanwhile."""

import importlib
import os
import queue
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bot.contracts import wire
from bot.contracts.capacity import retry_at_capacity
from bot.contracts.tools import Answer, ToolArguments, ToolFailure, ToolOutcome
from bot.contracts.wire import Frame
from bot.toolhost import descendants
from bot.toolhost.context import Context, Records
from bot.toolhost.lsp.diagnosing import Diagnosing
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.scan import Scanner

_LAST_SECONDS = 3.0
"""Seconds that a tool may run after the supervisor ended the pipe."""


class Server:
    """Serves one supervisor. `run` returns at the end of the pipe."""

    def __init__(self, start_message: Frame, incoming: int, outgoing: int, monitor: ProcessMonitor) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._waiting: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        """Calls and scans, and `None` at the end of the pipe."""

        self._open = 0
        """The call or scan that was received last: the supervisor sends one when it has the result of that before."""
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        """To the questions of that call."""

        self._over = threading.Event()
        self._records = Records(Path(start_message["shown"]))
        self._context = Context(
            root=Path(start_message["root"]),
            tmp=Path(start_message["tmp"]),
            spill=Path(start_message["spill"]),
            environment=start_message["environment"],
            ask=self._ask,
            records=self._records,
            assume_read=start_message["assume_read"],
            readable=tuple(map(Path, start_message["readable"])),
            programs=start_message["programs"],
            monitor=monitor,
        )
        self._checks: bool = start_message["checks"]
        """Whether the calls are setup and checks: the model's tools are not needed, and nothing is scanned."""
        self._scanner = Scanner(self._context)
        self._diagnostics: Frame | None = start_message.get("diagnostics")
        self._diagnosing: Diagnosing | None = None

    def run(self) -> None:
        listener = threading.Thread(target=self._listen, name="frames", daemon=True)
        retry_at_capacity(listener.start)
        try:
            if not self._checks:
                if options := self._diagnostics:
                    self._diagnosing = Diagnosing(self._context, self._scanner, options)
                self._scanner.take_base()
            while (message := self._waiting.get()) is not None:
                if message["type"] == "call":
                    self._call(message)
                else:
                    self._scan(message["id"])
        except wire.WireError:
            return  # the supervisor is gone
        finally:
            descendants.sweep()
            self._over.set()

    def _listen(self) -> None:
        """The body of a thread that reads the pipe: what arrives during a call may concern it."""
        try:
            with suppress(wire.WireError):  # half a frame is the end, too
                while (message := wire.receive(self._incoming)) is not None:
                    if message["type"] == "answer":
                        self._answers.put(Answer(message["allow"], message["reason"]))
                    elif message["type"] != "cancel":
                        self._open, self._answers = message["id"], queue.SimpleQueue()
                        self._context.cancelled.clear()
                        self._waiting.put(message)
                    elif message["id"] == self._open:
                        self._cancel("the call was cancelled")
        finally:
            self._waiting.put(None)
            # The pipe ended: make sure that this process ends too, whatever a tool does.
            self._cancel("the supervisor is gone")
            for child in descendants.children():
                descendants.kill_group(child)
            if not self._over.wait(_LAST_SECONDS):
                os._exit(1)

    def _cancel(self, reason: str) -> None:
        self._context.cancelled.set()
        self._answers.put(Answer(False, reason))

    def _call(self, message: Frame) -> None:
        context, tool = self._context, message["tool"]
        context.seq = message["id"]
        # What a subagent is shown, which only reads, the agent has not seen.
        context.records = Records() if message["agent"] else self._records
        context.echo = self._echo if message["echo"] else None
        if self._diagnosing is not None:
            self._diagnosing.before(tool)
        outcome = run_tool(tool, message["arguments"], context)
        if not self._checks:
            self._scanner.note(outcome.metadata)
        if self._diagnosing is not None:
            outcome = self._diagnosing.after(tool, outcome, more_edits=message["more_edits"])
        wire.send_encoded(self._outgoing, _result(message["id"], outcome))
        context.monitor.tidy()

    def _echo(self, line: str) -> None:
        wire.send(self._outgoing, {"type": "printed", "id": self._open, "line": line})

    def _scan(self, identity: int) -> None:
        frame = {"type": "changes", "id": identity, "files": [], "done": True}
        try:
            for entry in self._scanner.changes():
                wire.send(self._outgoing, {**frame, "files": [entry], "done": False, "note": ""})
                if self._diagnosing is not None:
                    self._diagnosing.changed_meanwhile(entry["path"])
            note = self._scanner.note_for_people
        except OSError as error:
            note = f"the work tree could not be scanned: {error}"
        wire.send(self._outgoing, {**frame, "note": note})

    def _ask(self, tool: str, files: Sequence[tuple[str, str]], diff: str) -> Answer:
        named = [{"path": path, "action": action} for path, action in files]
        question = {"type": "ask", "id": self._open, "tool": tool, "files": named, "diff": diff}
        wire.send(self._outgoing, question)
        return self._answers.get()


def run_tool(name: str, arguments: ToolArguments, context: Context) -> ToolOutcome:
    """Run one tool, the function `run` of `tools/NAME.py`, which is imported when it is first named, with the arguments
    of the call, which the supervisor has validated. The recipe is in `contracts/tool_descriptions.py`; what only the
    supervisor calls is not described there. Any exception of a tool becomes an error result here."""
    try:
        outcome: ToolOutcome = importlib.import_module(f"bot.toolhost.tools.{name}").run(context, **arguments)
        return outcome
    except ToolFailure as failure:
        return ToolOutcome(str(failure), is_error=True)
    except wire.WireError:
        raise  # the pipe broke under a question; no result can be sent either
    except Exception as error:  # noqa: BLE001 - any bug in a tool must still answer its call
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = "; ".join(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames)
        content = f"The tool {name} failed: {type(error).__name__}: {error} ({where})"
        return ToolOutcome(content, is_error=True)


def _result(identity: int, outcome: ToolOutcome) -> bytes:
    frame = {"type": "result", "id": identity, **outcome._asdict()}
    try:
        return wire.encode(frame)
    except (wire.WireError, TypeError, ValueError) as error:
        trouble = f"The tool's result could not be sent: {error}"
        return wire.encode({**frame, "content": trouble, "is_error": True, "metadata": {}})

"""The host's work: calls and scans, and what is said beside them.

Calls and scans are done strictly one after the other, in the order in which they came.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.contracts import wire
from bot.contracts.tools import ToolOutcome
from bot.workshop.host import descendants
from bot.workshop.host.context import Answer, Context, ToolFailure
from bot.workshop.host.history import History
from bot.workshop.host.incoming import Incoming
from bot.workshop.host.keepers import Keepers
from bot.workshop.host.records import Records
from bot.workshop.host.registry import RUN
from bot.workshop.host.scan import Scanner
from bot.workshop.host.specs import BASH

if TYPE_CHECKING:
    from bot.workshop.host.diagnosing import Diagnosing

_LAST_SECONDS = 3.0
"""How long a tool may go on after the supervisor went away."""

_Message = Mapping[str, Any]


class Server:
    """Serves one supervisor from `hello` to the end of the pipe. `run` does not return before."""

    def __init__(self, hello: _Message, incoming: int, outgoing: int, keepers: Keepers) -> None:
        self._incoming = Incoming(incoming, self._deal_with, self._leave)
        self._outgoing = outgoing
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running = 0
        self._cancelled: set[int] = set()
        self._gone = False
        self._over = threading.Event()
        self._context = Context(
            root=Path(hello["root"]),
            tmp=Path(hello["tmp"]),
            spill=Path(hello["spill"]),
            environment=hello["environment"],
            ask=self._ask,
            records=Records(),
            history=History(Path(hello["history"])),
            assume_read=hello["assume_read"],
            readable=tuple(map(Path, hello.get("readable", ()))),
            programs=hello.get("programs", {}),
            keepers=keepers,
            busy=self._incoming.busy,
        )
        self._records: dict[str, Records] = {}
        self._scanner = Scanner(self._context)
        self._diagnosing = self._looking_on(hello.get("diagnostics"))

    def run(self) -> None:
        self._incoming.start()
        try:
            self._incoming.busy()
            self._scanner.take_base()
            while (message := self._incoming.next()) is not None:
                if message["type"] == "call":
                    self._call(message)
                else:
                    self._scan(message)
        except wire.WireError:
            return  # the supervisor is gone: there is nobody left to tell
        finally:
            descendants.sweep()
            self._over.set()

    def _leave(self) -> None:
        """The supervisor is gone: see to it that the process ends too, whatever a tool does."""
        with self._lock:
            self._gone = True
            self._context.cancelled.set()
        self._answers.put(Answer(False, "the supervisor is gone"))
        descendants.kill_children()
        if not self._over.wait(_LAST_SECONDS):
            os._exit(1)

    def _deal_with(self, message: _Message) -> bool:
        """Whether it was no work, but a word on what is going on."""
        kind = message["type"]
        if kind == "answer":
            self._answers.put(Answer(message["allow"], message["reason"]))
        elif kind == "cancel":
            self._cancel(message["id"])
        return kind in ("answer", "cancel")

    def _cancel(self, identity: int) -> None:
        with self._lock:
            self._cancelled.add(identity)
            if identity == self._running:
                self._context.cancelled.set()
                self._answers.put(Answer(False, "the call was cancelled"))

    def _begin(self, identity: int) -> None:
        with self._lock:
            self._running = identity
            if self._gone or identity in self._cancelled:
                self._context.cancelled.set()

    def _end(self) -> None:
        with self._lock:
            self._running = 0
            self._cancelled.clear()
            self._context.cancelled.clear()
            while not self._answers.empty():
                self._answers.get_nowait()

    def _call(self, message: _Message) -> None:
        self._context.seq = message["seq"]
        self._context.records = self._records.setdefault(message.get("agent", ""), Records())
        self._context.echo = self._echo if message.get("echo") is True else None
        self._begin(message["id"])
        if message["tool"] != BASH.name:
            self._incoming.busy()  # a command says so itself, once it takes a while
        try:
            if self._diagnosing is not None:
                self._diagnosing.before(message["tool"])
            if message["tool"] == "standing":
                outcome = self._standing()
            else:
                outcome = run_tool(message["tool"], message["arguments"], self._context)
            self._scanner.note(outcome.metadata)
            if self._diagnosing is not None:
                outcome = self._diagnosing.after(
                    message["tool"], outcome, more_edits=message.get("more_edits") is True
                )
            frame = _result(message["id"], outcome)
        finally:
            self._end()
        wire.send_encoded(self._outgoing, frame)
        self._context.keepers.tidy()

    def _echo(self, line: str) -> None:
        wire.send(self._outgoing, {"type": "printed", "id": self._running, "line": line})

    def _looking_on(self, asked: _Message | None) -> Diagnosing | None:
        if not asked:
            return None
        from bot.workshop.host.diagnosing import Diagnosing

        return Diagnosing(self._context, self._scanner, asked)

    def _standing(self) -> ToolOutcome:
        """The supervisor's own question, at the end: what of the problems found is still there."""
        found = self._diagnosing.standing() if self._diagnosing is not None else {}
        return ToolOutcome("", metadata=found)

    def _scan(self, message: _Message) -> None:
        self._incoming.busy()
        try:
            for batch in self._scanner.changes():
                wire.send(
                    self._outgoing,
                    {"type": "changes", "id": message["id"], "files": batch, "done": False, "note": ""},
                )
                if self._diagnosing is not None:
                    self._diagnosing.changed_meanwhile([entry["path"] for entry in batch])
            note = self._scanner.note_for_people
        except OSError as error:
            note = f"the work tree could not be scanned: {error}"
        done = {"type": "changes", "id": message["id"], "files": [], "done": True, "note": note}
        wire.send(self._outgoing, done)

    def _ask(self, tool: str, files: Sequence[tuple[str, str]], diff: str) -> Answer:
        question = {
            "type": "ask",
            "id": self._running,
            "tool": tool,
            "files": [{"path": path, "action": action} for path, action in files],
            "diff": diff,
        }
        wire.send(self._outgoing, question)
        return self._answers.get()


def run_tool(name: str, arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    """Run one tool. The one place where whatever a tool raises becomes an error result."""
    try:
        return RUN[name](arguments, context)
    except ToolFailure as failure:
        return ToolOutcome(str(failure), is_error=True)
    except wire.WireError:
        raise  # the pipe broke under a question; no result can be sent either
    except Exception as error:  # noqa: BLE001 - any bug in a tool must still answer its call
        return _from_exception(name, error)


def _from_exception(name: str, error: Exception) -> ToolOutcome:
    import traceback  # 4 ms that only a failure pays

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    where = "; ".join(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames)
    content = f"The tool {name} failed: {type(error).__name__}: {error} ({where})"
    return ToolOutcome(content, is_error=True, metadata={"exception": type(error).__name__})


def _result(identity: int, outcome: ToolOutcome) -> bytes:
    def frame(of: ToolOutcome) -> bytes:
        return wire.encode(
            {
                "type": "result",
                "id": identity,
                "content": of.content,
                "is_error": of.is_error,
                "metadata": dict(of.metadata),
            }
        )

    try:
        return frame(outcome)
    except (wire.WireError, TypeError, ValueError) as error:
        return frame(ToolOutcome(f"The tool's result could not be sent: {error}", is_error=True))

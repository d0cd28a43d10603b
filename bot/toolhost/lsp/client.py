"""One language server: its process, the protocol over its pipes, and the problems of the files it was sent.

Each file goes through two texts: the one before the agent's first change, then the current one, which is sent once the
problems of the first are known. Nothing here waits for the server; `changed` is notified of each result.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.contracts.evidence import Problem, ServerUse
from bot.contracts.formatting import signal_name
from bot.contracts.plain_text import printable
from bot.toolhost import descendants
from bot.toolhost.lsp.protocol import (
    Decoder,
    FrameError,
    Message,
    encode,
    mapping,
    parse_diagnostics,
    path_of,
    sendable,
    uri_of,
)

_MAX_RECEIVED = 128 << 20
_MAX_MESSAGES = 50_000
"""Bytes and messages that a server may send between two messages of ours."""

_MAX_UNREAD = 16 << 20
"""Bytes that wait for a server that does not read."""

_PULL = "textDocument/diagnostic"
_REQUESTS = ("client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create")
_METHOD_NOT_FOUND = -32601
_RETRY = (-32800, -32801, -32802)
"""Error codes: cancelled by either side, or the content was modified meanwhile."""

_MAX_RETRIES = 20
_CAPABILITIES: Mapping[str, Any] = {
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
        "diagnostic": {},
    },
    "workspace": {
        "configuration": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceFolders": True,
        "diagnostics": {"refreshSupport": True},
    },
}


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server to start on the folder `project`. Names of files are relative to `root`. `start` starts its process in a
    session of its own with pipes, or raises `OSError`."""

    name: str
    root: Path
    project: Path
    start: Callable[[], subprocess.Popen[bytes]]
    options: object = None


@dataclass(slots=True)
class Document:
    """A file: `before` is its text before the agent's first change, and `base` the problems in it, `None` while they
    are unknown. `problems` are those of `now`. `sent` is the text that the server has, in this `version`; `request` is
    the last one for its problems, 0 if none is under way."""

    name: str
    language: str
    before: str
    now: str
    base: tuple[Problem, ...] | None = None
    problems: tuple[Problem, ...] | None = None
    sent: str | None = None
    version: int = 0
    request: int = 0
    retries: int = 0

    @property
    def ready(self) -> bool:
        """Whether the problems before and now are known."""
        return self.base is not None and self.problems is not None and self.sent == self.now


class LanguageServer:
    """Started at once, and never again. All methods may be called from any thread; `changed` guards the state."""

    def __init__(self, config: ServerConfig, changed: threading.Condition) -> None:
        self.config = config
        self.documents: dict[str, Document] = {}
        self.off_reason = ""
        self.silent = False
        """It did not answer within the last wait, nor since."""

        self._changed = changed
        self._version = ""
        self._ready = self._pulls = False
        self._received = self._messages = self._unread = self._last_id = 0
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._pending: dict[int, str] = {}
        """The names of the files that requests are about; empty for `initialize`."""

        try:
            self._process = config.start()
        except OSError as error:
            self.off_reason = f"could not be started: {error.strerror or error}"
            return
        project = uri_of(str(config.project))
        start = {
            "processId": os.getpid(),
            "clientInfo": {"name": "slash-agent"},
            "rootUri": project,
            "workspaceFolders": [{"uri": project, "name": config.project.name or "root"}],
            "capabilities": _CAPABILITIES,
            **({} if config.options is None else {"initializationOptions": config.options}),
        }
        with changed:
            self._request("initialize", start)
        for target in (self._read_output, self._write_input):
            threading.Thread(target=target, name=config.name, daemon=True).start()

    def read(self, name: str, language: str, before: str | None, now: str) -> None:
        """Have the problems of `before` computed, then those of `now`. A file that did not exist had none."""
        with self._changed:
            base = () if before is None else None
            document = self.documents.setdefault(name, Document(name, language, before or "", now, base))
            document.now = now
            self._advance(document)

    def closed(self, name: str) -> None:
        with self._changed:
            document = self.documents.pop(name, None)
            if document is not None and document.sent is not None:
                self._notify("textDocument/didClose", {"textDocument": {"uri": self._uri(name)}})

    def files_changed(self, changes: Mapping[str, int]) -> None:
        """Files on disk, with 1 for created, 2 for changed, 3 for deleted. Problems of all files may be others then."""
        with self._changed:
            if self._ready and not self.off_reason:
                events = [{"uri": self._uri(name), "type": kind} for name, kind in changes.items()]
                self._notify("workspace/didChangeWatchedFiles", {"changes": events})

    def ask_again(self, names: Iterable[str]) -> None:
        """Request the problems of unchanged files anew. One that publishes them does so by itself."""
        with self._changed:
            for document in map(self.documents.__getitem__, names):
                if self._pulls and document.base is not None and document.sent == document.now:
                    document.problems = None
                    self._pull(document)

    def check_health(self) -> None:
        """Notice that it is dead while a child of its keeps the pipe open."""
        with self._changed:
            if not self.off_reason and self._process.poll() is not None:
                self._turn_off(_exit_reason(self._process))

    def is_ready(self, names: Iterable[str]) -> bool:
        """Whether the problems of these files are known, of those that are open."""
        with self._changed:
            return all(self.documents[name].ready for name in names if name in self.documents)

    def use(self) -> ServerUse:
        return ServerUse(self.config.name, self._version, self.off_reason)

    def end(self) -> None:
        with self._changed:
            self._turn_off("stopped")

    def _advance(self, document: Document) -> None:
        """Send the text whose problems are wanted next, unless the server has it."""
        wanted = document.before if document.base is None else document.now
        if not self._ready or self.off_reason or document.sent == wanted:
            return
        identifier = {"uri": self._uri(document.name), "version": document.version + 1}
        text = {"text": sendable(wanted)}
        if document.sent is None:
            item = {**identifier, "languageId": document.language, **text}
            self._notify("textDocument/didOpen", {"textDocument": item})
        else:
            change = {"textDocument": identifier, "contentChanges": [text]}
            self._notify("textDocument/didChange", change)
            self._notify("textDocument/didSave", {"textDocument": {"uri": identifier["uri"]}})
        document.sent, document.version, document.problems = wanted, document.version + 1, None
        document.retries = 0
        if self._pulls:
            self._pull(document)

    def _pull(self, document: Document) -> None:
        params = {"textDocument": {"uri": self._uri(document.name)}}
        document.request = self._request(_PULL, params, document.name)

    def _take(self, document: Document, items: object) -> None:
        """Take a result for the text that the server has."""
        name, text = self.config.name, document.sent or ""
        problems = parse_diagnostics(items, tool=name, path=document.name, text=text)
        if problems is None:
            return
        self.silent = False
        if document.base is None:
            document.base = problems
        if document.sent == document.now:
            document.problems = problems
        self._advance(document)
        self._changed.notify_all()

    def _dispatch(self, message: Message) -> None:
        method, identity, params = message.get("method"), message.get("id"), mapping(message.get("params"))
        if not isinstance(method, str):
            self._handle_response(message)
        elif type(identity) in (int, str):
            self._handle_request(identity, method, params)
        elif method == "textDocument/publishDiagnostics" and not self._pulls:
            version, root = params.get("version"), f"{self.config.root}/"
            path = path_of(params.get("uri"))
            document = self.documents.get(path.removeprefix(root)) if path.startswith(root) else None
            if document is not None and (type(version) is not int or version == document.version):
                self._take(document, params.get("diagnostics"))

    def _handle_request(self, identity: object, method: str, params: Mapping[str, Any]) -> None:
        answer: Message = {"result": None}
        if method == "workspace/configuration":
            items = params.get("items")
            answer = {"result": [None] * len(items) if isinstance(items, list) else []}
        elif method == "workspace/diagnostic/refresh":
            for document in self.documents.values():
                if self._pulls and document.sent is not None and not document.request:
                    self._pull(document)
        elif method not in _REQUESTS:
            answer = {"error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}}
        self._put({"id": identity} | answer)

    def _handle_response(self, message: Message) -> None:
        identity = message.get("id")
        if type(identity) is not int or identity not in self._pending:
            return
        name = self._pending.pop(identity)
        error, result = message.get("error"), mapping(message.get("result"))
        if not name:
            self._initialized(error, result)
        elif (document := self.documents.get(name)) is not None and document.request == identity:
            document.request = 0
            if error is None:
                self._take(document, result.get("items"))
            elif mapping(error).get("code") in _RETRY and document.retries < _MAX_RETRIES:
                document.retries += 1
                self._pull(document)

    def _initialized(self, error: object, result: Mapping[str, Any]) -> None:
        if error is not None or "capabilities" not in result:
            self._turn_off(f"it refused to start: {mapping(error).get('message', '')}")
            return
        provider = mapping(result["capabilities"]).get("diagnosticProvider")
        self._pulls = provider is True or isinstance(provider, dict)
        self._version = one_line(str(mapping(result.get("serverInfo")).get("version") or ""), 40)
        self._ready = True
        self._notify("initialized", {})
        for document in self.documents.values():
            self._advance(document)

    def _uri(self, name: str) -> str:
        return uri_of(str(self.config.root / name))

    def _request(self, method: str, params: Message, name: str = "") -> int:
        self._last_id += 1
        self._pending[self._last_id] = name
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def _notify(self, method: str, params: Message) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Message) -> None:
        self._received = self._messages = 0
        self._put(message)

    def _put(self, message: Message) -> None:
        data = encode(message)
        self._unread += len(data)
        self._outgoing.put(data)
        if self._unread > _MAX_UNREAD:
            self._turn_off("it does not read what it is sent")

    def _write_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the reader sees that the process ended
            while (data := self._outgoing.get()) is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._process.stdin.fileno(), rest) :]
                with self._changed:
                    self._unread -= len(data)
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _read_output(self) -> None:
        """Take what the process sends, until it ends or breaks a rule."""
        assert self._process.stdout is not None
        decoder, reason = Decoder(), ""
        try:
            while not self.off_reason and (data := os.read(self._process.stdout.fileno(), 1 << 16)):
                with self._changed:
                    self._received += len(data)
                    for message in decoder.feed(data):
                        self._messages += 1
                        self._dispatch(message)
                        if self._received > _MAX_RECEIVED or self._messages > _MAX_MESSAGES:
                            counts = f"{self._messages:,} messages, {self._received:,} bytes"
                            raise FrameError(f"{counts}, unasked")
        except FrameError as error:
            reason = f"it sent {error}"
        if not reason:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
        with self._changed:
            self._turn_off(reason or _exit_reason(self._process))
        self._process.stdout.close()
        self._process.wait()

    def _turn_off(self, reason: str) -> None:
        if not self.off_reason:
            self.off_reason = one_line(reason)
            _kill(self._process)
            self._outgoing.put(None)
            self._changed.notify_all()


def one_line(text: str, limit: int = 300) -> str:
    return " ".join(printable(text).split())[:limit]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill it, its group and its descendants outside the group."""
    pids = list(descendants.below(process.pid)) if process.poll() is None else []
    with contextlib.suppress(PermissionError):
        descendants.signal_group(process.pid, signal.SIGKILL)
        descendants.kill(pids)


def _exit_reason(process: subprocess.Popen[bytes]) -> str:
    code = process.poll()
    if code is None:
        return "it closed its standard output"
    return f"it was ended by {signal_name(-code)}" if code < 0 else f"it ended with exit code {code}"

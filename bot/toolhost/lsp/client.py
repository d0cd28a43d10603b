"""One language server: its process, the protocol over its pipes, and the problems of the files it was sent.

Each file goes through two texts: the one before the agent's first change, then the current one, which is sent once the
problems of the first are known. Nothing here waits for the server; `changed` is notified of each result.
"""

import contextlib
import os
import queue
import subprocess
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from bot.contracts.evidence import Problem
from bot.ecosystems.language_server import Launch
from bot.toolhost import descendants
from bot.toolhost.lsp import protocol
from bot.toolhost.lsp.protocol import FrameError, Message, mapping
from bot.toolhost.problem_record import one_line

_RETRY, _MAX_RETRIES = (-32800, -32801, -32802), 20
"""Error codes: cancelled by either side, or the content was modified meanwhile."""

CREATED, CHANGED, DELETED = 1, 2, 3
"""Changes of files, as the protocol counts them."""

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


@dataclass
class SourceFile:
    """A file with its text before the agent's first change and now, `None` if it does not exist or is not text.
    `change` is how it changed last: `CREATED`, `CHANGED` or `DELETED`."""

    name: str
    before: str | None
    now: str | None
    change: int = CHANGED


@dataclass
class Document:
    """A file that a server has. `base` are the problems before the agent's first change, `None` while they are unknown,
    `problems` those now. `server_text` is the text that the server has, in this `version`; `request` is the last one
    for its problems, 0 if none is under way."""

    file: SourceFile
    language: str
    base: tuple[Problem, ...] | None
    problems: tuple[Problem, ...] | None = None
    server_text: str | None = None
    version: int = 0
    request: int = 0
    retries: int = 0

    @property
    def ready(self) -> bool:
        """Whether the problems before and now are known."""
        return self.base is not None and self.problems is not None and self.server_text == self.file.now


class LanguageServer:
    """Of a process that was started as `launch` says, with pipes, in a session of its own; never restarted. Names of
    files are relative to `root`. All methods may be called from any thread; `changed` guards the state."""

    def __init__(
        self,
        name: str,
        root: Path,
        launch: Launch,
        process: subprocess.Popen[bytes],
        changed: threading.Condition,
    ) -> None:
        self.name = name
        self.documents: dict[str, Document] = {}
        self.version = self.off_reason = ""
        self.silent = False
        """It did not answer within the last wait, nor since."""

        self._root = root
        self._process = process
        self._changed = changed
        self._ready = self._pulls = False
        self._last_id = 0
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._pending: dict[int, Document | None] = {}
        """What requests are about; `None` for `initialize`."""

        project = launch.root or root
        start = {
            "processId": os.getpid(),
            "clientInfo": {"name": "slash-agent"},
            "rootUri": project.as_uri(),
            "workspaceFolders": [{"uri": project.as_uri(), "name": project.name or "root"}],
            "capabilities": _CAPABILITIES,
            **({} if launch.options is None else {"initializationOptions": launch.options}),
        }
        with changed:
            self._request("initialize", start, None)
        for target in (self._read_output, self._write_input):
            threading.Thread(target=target, name=name, daemon=True).start()

    def read(self, file: SourceFile, language: str) -> None:
        """Have the problems before computed, then those now. A file that did not exist had none."""
        with self._changed:
            document = Document(file, language, () if file.before is None else None)
            self._advance(self.documents.setdefault(file.name, document))

    def closed(self, name: str) -> None:
        with self._changed:
            if (document := self.documents.pop(name, None)) and document.server_text is not None:
                self._notify("textDocument/didClose", {"textDocument": {"uri": self._uri(name)}})

    def files_changed(self, files: Iterable[SourceFile]) -> None:
        """Report changes on disk, with which the problems of all files may be others; of an open file it has the
        text."""
        with self._changed:
            news = [one for one in files if one.name not in self.documents or one.change == CREATED]
            if news and self._ready:
                events = [{"uri": self._uri(one.name), "type": one.change} for one in news]
                self._notify("workspace/didChangeWatchedFiles", {"changes": events})

    def ask_again(self, names: Iterable[str]) -> None:
        """Request the problems of unchanged files anew. One that publishes them does so by itself."""
        with self._changed:
            for document in map(self.documents.__getitem__, names):
                if self._pulls and document.base is not None and document.server_text == document.file.now:
                    document.problems = None
                    self._pull(document)

    def is_done(self, names: Iterable[str]) -> bool:
        """Whether the problems of these files are known, of those that are open, or nothing will be."""
        with self._changed:
            ready = (self.documents[name].ready for name in names if name in self.documents)
            return bool(self.off_reason) or all(ready)

    def end(self) -> None:
        with self._changed:
            self._turn_off("stopped")

    def _advance(self, document: Document) -> None:
        """Send the text whose problems are wanted next, unless the server has it."""
        wanted = document.file.before if document.base is None else document.file.now
        if wanted is None or not self._ready or self.off_reason or document.server_text == wanted:
            return
        identifier = {"uri": self._uri(document.file.name), "version": document.version + 1}
        # Servers refuse the whole message for a lone surrogate.
        text = {"text": wanted.encode("utf-8", "replace").decode("utf-8")}
        if document.server_text is None:
            item = {**identifier, "languageId": document.language, **text}
            self._notify("textDocument/didOpen", {"textDocument": item})
        else:
            change = {"textDocument": identifier, "contentChanges": [text]}
            self._notify("textDocument/didChange", change)
            self._notify("textDocument/didSave", {"textDocument": {"uri": identifier["uri"]}})
        document.server_text, document.version = wanted, document.version + 1
        document.problems, document.retries = None, 0
        if self._pulls:
            self._pull(document)

    def _pull(self, document: Document) -> None:
        params = {"textDocument": {"uri": self._uri(document.file.name)}}
        document.request = self._request("textDocument/diagnostic", params, document)

    def _take(self, document: Document, items: object) -> None:
        """Take a result for the text that the server has."""
        text = document.server_text or ""
        problems = protocol.parse_diagnostics(items, tool=self.name, path=document.file.name, text=text)
        if problems is None:
            return
        self.silent = False
        document.base = problems if document.base is None else document.base
        if document.server_text == document.file.now:
            document.problems = problems
        self._advance(document)
        self._changed.notify_all()

    def _dispatch(self, message: Message) -> None:
        method, identity, params = message.get("method"), message.get("id"), mapping(message.get("params"))
        if not isinstance(method, str):
            self._handle_response(message)
        elif type(identity) in (int, str):
            self._put({"id": identity, "result": self._result(method, params)})
        elif method == "textDocument/publishDiagnostics" and not self._pulls:
            version, path = params.get("version"), protocol.path_of(params.get("uri"))
            document = self.documents.get(path.removeprefix(f"{self._root}/"))
            if document is not None and (type(version) is not int or version == document.version):
                self._take(document, params.get("diagnostics"))

    def _result(self, method: str, params: Mapping[str, Any]) -> object:
        """The result for a request of the server: no settings, and null for what it registers."""
        if method == "workspace/configuration":
            items = params.get("items")
            return [None] * len(items) if isinstance(items, list) else []
        if method == "workspace/diagnostic/refresh":
            for document in self.documents.values():
                if self._pulls and document.server_text is not None and not document.request:
                    self._pull(document)
        return None

    def _handle_response(self, message: Message) -> None:
        identity = message.get("id")
        if type(identity) is not int or identity not in self._pending:
            return
        document = self._pending.pop(identity)
        error, result = message.get("error"), mapping(message.get("result"))
        if document is None:
            self._initialized(error, result)
        elif document.request == identity:
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
        self.version = one_line(mapping(result.get("serverInfo")).get("version"), 40)
        self._ready = True
        self._notify("initialized", {})
        for document in self.documents.values():
            self._advance(document)

    def _uri(self, name: str) -> str:
        return (self._root / name).as_uri()

    def _request(self, method: str, params: Message, document: Document | None) -> int:
        self._last_id += 1
        self._pending[self._last_id] = document
        self._put({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def _notify(self, method: str, params: Message) -> None:
        self._put({"method": method, "params": params})

    def _put(self, message: Message) -> None:
        self._outgoing.put(protocol.encode(message))

    def _write_input(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError), self._process.stdin as pipe:  # the reader sees the end
            while (data := self._outgoing.get()) is not None:
                pipe.write(data)
                pipe.flush()

    def _read_output(self) -> None:
        """Take what the process sends, until it ends or breaks a rule."""
        stream, reason = cast(BufferedReader, self._process.stdout), ""
        try:
            while not self.off_reason and (message := protocol.receive(stream)) is not None:
                with self._changed:
                    self._dispatch(message)
        except FrameError as error:
            reason = f"it sent {error}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if reason else 1.0)
        with self._changed:
            code = self._process.returncode
            ended = "it closed its standard output" if code is None else f"it ended with exit code {code}"
            self._turn_off(reason or ended)
        stream.close()
        self._process.wait()

    def _turn_off(self, reason: str) -> None:
        if not self.off_reason:
            self.off_reason = one_line(reason, 300)
            descendants.kill([self._process.pid, *descendants.below(self._process.pid)])
            self._outgoing.put(None)
            self._changed.notify_all()

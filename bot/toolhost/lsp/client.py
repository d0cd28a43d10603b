"""The protocol with one server process, from its start over `initialize` to its end. Runs on the loop's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bot.toolhost.lsp.codecs import TSSERVER_REQUESTS, tsserver_diagnostics, tsserver_params
from bot.toolhost.lsp.jsonrpc import METHOD_NOT_FOUND, Connection, ConnectionClosedError, ResponseError
from bot.toolhost.lsp.process import ServerConfig, kill_all, running_descendants
from bot.toolhost.lsp.protocol import (
    Document,
    DocumentState,
    ServerCapabilities,
    change_params,
    initialize_params,
    path_of,
    server_capabilities,
    uri_of,
)
from bot.toolhost.lsp.settling import RefreshCount, WorkDoneProgress, next_check_time, pull

_PULL = "textDocument/diagnostic"
_WATCH = "workspace/didChangeWatchedFiles"
_KINDS = {"created": 1, "changed": 2, "deleted": 3}
_MAX_REGISTRATIONS = 1000


class Client:
    """`on_end` is called once when the process has ended, `on_published` with the path of an open file whose
    diagnostics were published or may have changed."""

    def __init__(
        self, config: ServerConfig, on_end: Callable[[], None], on_published: Callable[[str], None]
    ) -> None:
        self.capabilities = ServerCapabilities()
        self.connection: Connection | None = None
        self._config = config
        self._timeouts = config.timeouts
        self._on_end = on_end
        self._on_published = on_published
        self._states: dict[str, DocumentState] = {}
        self._registrations: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._progress = WorkDoneProgress(config.timeouts)
        self._refreshes = RefreshCount()
        self._settings_requested = self._has_answered = False
        self._wakeup = asyncio.Event()
        self._pull_known = asyncio.Event()

    async def start(self) -> None:
        """Raises `OSError` if the program cannot be started, `TimeoutError`, `ResponseError`,
        `ConnectionClosedError`."""
        process = self._config.spawn(self._config)
        self.connection = Connection(
            process,
            self._config.codec(self._config.limits.message),
            self._config.limits,
            on_request=self._handle_request,
            on_notification=self._handle_notification,
            on_close=self._connection_closed,
        )
        await self.connection.attach()
        async with asyncio.timeout(self._timeouts.start):
            params = initialize_params(self._config.folder, self._config.options)
            self.capabilities = server_capabilities(await self.connection.request("initialize", params))
        self.connection.notify("initialized", {})
        if self._config.settings:
            self.connection.notify("workspace/didChangeConfiguration", {"settings": self._config.settings})
        if self.capabilities.pull is not None or self.capabilities.tsserver:
            self._pull_known.set()
        else:
            asyncio.get_running_loop().call_later(self._timeouts.registration, self._pull_known.set)

    def open(self, document: Document) -> None:
        self._states[document.absolute] = document.state = DocumentState(document.version)
        self._mark_stirred(document)
        self._notify("textDocument/didOpen", {"textDocument": document.item})

    def change(self, document: Document, old: str) -> None:
        document.state.change(document.version)
        self._mark_stirred(document)
        params = change_params(document, old, self.capabilities)
        if params is not None:
            self._notify("textDocument/didChange", params)

    def save(self, document: Document) -> None:
        if self.capabilities.saves:
            text = {"text": document.text} if self.capabilities.saves_text else {}
            self._notify("textDocument/didSave", {"textDocument": document.identifier} | text)

    def close_file(self, document: Document) -> None:
        self._states.pop(document.absolute, None)
        self._mark_stirred(document)
        self._notify("textDocument/didClose", {"textDocument": document.identifier})

    def files_changed(self, changes: Iterable[tuple[str, str]]) -> None:
        """Report changes on disk, by absolute path. A change of an open file is not reported: the server has its
        text, and ty would compute all its answers again."""
        events = [
            {"uri": uri_of(path), "type": _KINDS[kind]}
            for path, kind in changes
            if kind in _KINDS and not (kind == "changed" and path in self._states)
        ]
        if events and any(method == _WATCH for method, _ in self._registrations.values()):
            self._notify(_WATCH, {"changes": events})

    async def check(self, document: Document) -> object:
        """Return the server's diagnostics of the current text. Raises `ResponseError` and `ConnectionClosedError`."""
        await self._pull_known.wait()
        if self._pull_options() is None and self.capabilities.tsserver:
            return await self._request_tsserver(document)
        if self._pull_options() is None and await self._wait_settled(document.state):
            return document.state.items
        first = document.state.opened
        report = await pull(
            lambda: self._pull(document),
            self._refreshes,
            self._timeouts,
            first=first,
            unready=self._is_unready,
        )
        document.state.opened = False
        self._has_answered = True
        if not isinstance(report, dict) or not isinstance(report.get("items"), list):
            raise ResponseError(0, "no report")
        return report["items"]

    async def stop(self) -> None:
        """Shut down by the protocol; kill the process if it does not follow in time."""
        connection = self.connection
        if connection is None:
            return None
        if connection.closed_reason:
            return await connection.wait_reaped()
        children = running_descendants(connection.process)
        try:
            async with asyncio.timeout(self._timeouts.stop):
                await connection.request("shutdown")
                connection.notify("exit")
                while not connection.closed_reason:
                    await asyncio.sleep(0.01)
        except (TimeoutError, ResponseError, ConnectionClosedError):
            pass  # it is killed all the same
        finally:
            connection.close("stopped")
            kill_all(children)  # one with a session of its own outlives its parent
        await connection.wait_reaped()
        return None

    def close(self, reason: str) -> None:
        if self.connection is not None:
            self.connection.close(reason)

    @property
    def pid(self) -> int:
        """0 once the process has ended."""
        return 0 if self.connection is None or self.connection.closed_reason else self.connection.process.pid

    @property
    def busy(self) -> bool:
        """Whether it reports work in progress."""
        return self._progress.active

    @property
    def idle_since(self) -> float:
        """When it last reported the end of a task."""
        return self._progress.last_end

    @property
    def stderr_tail(self) -> str:
        return "" if self.connection is None else self.connection.stderr.text

    def _notify(self, method: str, params: object) -> None:
        if self.connection is not None:
            self.connection.notify(method, params)

    def _mark_stirred(self, changed: Document) -> None:
        """The diagnostics of the other files may change by this."""
        for path, state in self._states.items():
            if path != changed.absolute:
                state.stirred = _now()

    def _pull_options(self) -> Mapping[str, Any] | None:
        dynamic = [options for method, options in self._registrations.values() if method == _PULL]
        return dynamic[-1] if dynamic else self.capabilities.pull

    async def _pull(self, document: Document) -> object:
        if self.connection is None:
            raise ConnectionClosedError
        identifier = (self._pull_options() or {}).get("identifier")
        named = {"identifier": identifier} if isinstance(identifier, str) else {}
        return await self.connection.request(_PULL, {"textDocument": document.identifier} | named)

    def _is_unready(self, report: object) -> bool:
        """oxlint answers without problems while it requests its settings, before it has read its rules."""
        clean = isinstance(report, dict) and not report.get("items")
        return clean and self._settings_requested and not self._has_answered

    async def _request_tsserver(self, document: Document) -> list[Any]:
        diagnostics: list[Any] = []
        for request in TSSERVER_REQUESTS:
            if self.connection is None:
                raise ConnectionClosedError
            params = tsserver_params(request, document.absolute)
            items = tsserver_diagnostics(await self.connection.request("workspace/executeCommand", params))
            if items is None:
                raise ResponseError(0, "no answer of TypeScript's server")
            diagnostics += items
        return diagnostics

    async def _wait_settled(self, state: DocumentState) -> bool:
        """Wait until the publications are final. Return False if the server registers pull diagnostics meanwhile,
        which a busy one does late."""
        while self._pull_options() is None:
            wakeup = self._wakeup
            deadline = next_check_time(state, self._progress, _now(), self._timeouts)
            if deadline == 0:
                state.opened = False
                return True
            if self.connection is None or self.connection.closed_reason:
                raise ConnectionClosedError
            try:
                async with asyncio.timeout_at(deadline):
                    await wakeup.wait()
            except TimeoutError:
                continue
        return False

    def _wake_waiters(self) -> None:
        wakeup, self._wakeup = self._wakeup, asyncio.Event()
        wakeup.set()

    def _connection_closed(self) -> None:
        self._pull_known.set()
        self._wake_waiters()
        self._on_end()

    def _handle_notification(self, method: str, params: object) -> None:
        if not isinstance(params, dict):
            return
        if method == "textDocument/publishDiagnostics":
            path = path_of(params.get("uri"))
            state = self._states.get(path)
            if state is not None and state.publish(params.get("diagnostics"), params.get("version"), _now()):
                self._wake_waiters()
                self._on_published(path)
        elif method == "$/progress":
            value = params.get("value")
            kind = value.get("kind") if isinstance(value, dict) else None
            self._progress.update(params.get("token"), kind, _now())
            self._wake_waiters()

    def _handle_request(self, method: str, params: object) -> object:
        arguments: dict[str, Any] = params if isinstance(params, dict) else {}
        match method:
            case "workspace/configuration":
                self._settings_requested = True
                items = arguments.get("items")
                return [self._setting(item) for item in items] if isinstance(items, list) else []
            case "client/registerCapability":
                self._register(arguments.get("registrations"))
            case "client/unregisterCapability":
                self._unregister(arguments.get("unregisterations"))
            case "workspace/diagnostic/refresh":
                self._refreshes.record()
                for path in self._states:
                    self._on_published(path)
            case "window/workDoneProgress/create" | "window/showMessageRequest":
                pass
            case "workspace/applyEdit":
                return {"applied": False}
            case "workspace/workspaceFolders":
                folder = self._config.folder
                return [{"uri": uri_of(str(folder)), "name": folder.name}]
            case _ if method.startswith("workspace/") and method.endswith("/refresh"):
                pass
            case _:
                raise ResponseError(METHOD_NOT_FOUND, "method not found")
        return None

    def _setting(self, item: object) -> object:
        section = item.get("section") if isinstance(item, dict) else None
        value: object = self._config.settings
        for name in section.split(".") if isinstance(section, str) and section else ():
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _register(self, registrations: object) -> None:
        for registration in registrations if isinstance(registrations, list) else ():
            if not isinstance(registration, dict):
                continue
            identity, method = registration.get("id"), registration.get("method")
            if not isinstance(identity, str) or not isinstance(method, str):
                continue
            if len(self._registrations) < _MAX_REGISTRATIONS:
                options = registration.get("registerOptions")
                self._registrations[identity] = (method, options if isinstance(options, dict) else {})
            if method == _PULL:
                self._pull_known.set()
                self._wake_waiters()

    def _unregister(self, registrations: object) -> None:
        for registration in registrations if isinstance(registrations, list) else ():
            if isinstance(registration, dict) and isinstance(registration.get("id"), str):
                self._registrations.pop(registration["id"], None)


def _now() -> float:
    return asyncio.get_running_loop().time()

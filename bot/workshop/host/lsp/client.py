"""One life of a server: from its process's start over `initialize` to its end. What it asks is answered here, what it
tells is kept here; whether it is started again is `service`'s business. Runs on the loop's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bot.workshop.host.lsp import documents, processes, tsserver
from bot.workshop.host.lsp.capabilities import Abilities, abilities, initialize_params
from bot.workshop.host.lsp.documents import Document
from bot.workshop.host.lsp.programs import Program
from bot.workshop.host.lsp.rpc import METHOD_NOT_FOUND, Connection, GoneError, ResponseError
from bot.workshop.host.lsp.uris import path_of, uri_of
from bot.workshop.host.lsp.waiting import Progress, Refreshes, Told, look_again, pull

_PULL = "textDocument/diagnostic"
_WATCH = "workspace/didChangeWatchedFiles"
_KINDS = {"created": 1, "changed": 2, "deleted": 3}
_MOST_REGISTERED = 1000


class Client:
    """`on_end` is called once when the process is gone, `on_told` with the path of an open file about which the server
    published something, or may have something else to say."""

    def __init__(self, program: Program, on_end: Callable[[], None], on_told: Callable[[str], None]) -> None:
        self.abilities = Abilities()
        self.connection: Connection | None = None
        self._program = program
        self._pauses = program.pauses
        self._on_end = on_end
        self._on_told = on_told
        self._told: dict[str, Told] = {}
        self._registered: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._progress = Progress(program.pauses)
        self._refreshes = Refreshes()
        self._asked_for_settings = self._answered_once = False
        self._news = asyncio.Event()
        self._pull_known = asyncio.Event()

    async def start(self) -> None:
        """Raises `OSError` where the program cannot be started, `TimeoutError`, `ResponseError`, `GoneError`."""
        process = self._program.spawn(self._program)
        self.connection = Connection(
            process,
            self._program.talk(self._program.bounds.message),
            self._program.bounds,
            self._asked,
            self._notified,
            self._ended,
        )
        await self.connection.attach()
        async with asyncio.timeout(self._pauses.start):
            params = initialize_params(self._program.folder, self._program.options)
            self.abilities = abilities(await self.connection.request("initialize", params))
        self.connection.notify("initialized", {})
        if self._program.settings:
            self.connection.notify("workspace/didChangeConfiguration", {"settings": self._program.settings})
        if self.abilities.pull is not None or self.abilities.tsserver:
            self._pull_known.set()
        else:
            asyncio.get_running_loop().call_later(self._pauses.registration, self._pull_known.set)

    def open(self, document: Document) -> None:
        self._told[document.absolute] = document.told = Told(document.version, _now())
        self._stir(document)
        self._notify("textDocument/didOpen", {"textDocument": document.item})

    def change(self, document: Document, old: str) -> None:
        document.told.change(document.version, _now())
        self._stir(document)
        params = documents.change(document, old, self.abilities)
        if params is not None:
            self._notify("textDocument/didChange", params)

    def save(self, document: Document) -> None:
        if self.abilities.saves:
            text = {"text": document.text} if self.abilities.saves_text else {}
            self._notify("textDocument/didSave", {"textDocument": document.identifier} | text)

    def close_file(self, document: Document) -> None:
        self._told.pop(document.absolute, None)
        self._stir(document)
        self._notify("textDocument/didClose", {"textDocument": document.identifier})

    def touched(self, changes: Iterable[tuple[str, str]]) -> None:
        """Files, by absolute path, and what became of them. Of one that is open the text counts that it was sent: to
        be told that the file changed too makes ty take all its answers back, which are then asked for twice."""
        told = [
            {"uri": uri_of(path), "type": _KINDS[kind]}
            for path, kind in changes
            if kind in _KINDS and not (kind == "changed" and path in self._told)
        ]
        if told and any(method == _WATCH for method, _ in self._registered.values()):
            self._notify(_WATCH, {"changes": told})

    async def check(self, document: Document) -> object:
        """The problems in the document as it is now, as the server has them. Raises `ResponseError` and `GoneError`."""
        await self._pull_known.wait()
        if self._pull_options() is None and self.abilities.tsserver:
            return await self._ask_tsserver(document)
        if self._pull_options() is None and await self._has_told_all(document.told):
            return document.told.items
        first = document.told.opened
        report = await pull(
            lambda: self._pull(document), self._refreshes, self._pauses, first=first, unready=self._is_unready
        )
        document.told.opened = False
        self._answered_once = True
        if not isinstance(report, dict) or not isinstance(report.get("items"), list):
            raise ResponseError(0, "no report")
        return report["items"]

    async def stop(self) -> None:
        """As the protocol wants it where the server goes along, else by force."""
        connection = self.connection
        if connection is None:
            return None
        if connection.ended:
            return await connection.reaped()
        below = processes.below(connection.process)
        try:
            async with asyncio.timeout(self._pauses.stop):
                await connection.request("shutdown")
                connection.notify("exit")
                while not connection.ended:
                    await asyncio.sleep(0.01)
        except (TimeoutError, ResponseError, GoneError):
            pass  # it is ended all the same
        finally:
            connection.close("stopped")
            processes.end_all(below)  # what has a session of its own outlives it
        await connection.reaped()
        return None

    def close(self, reason: str) -> None:
        if self.connection is not None:
            self.connection.close(reason)

    @property
    def pid(self) -> int:
        """0 when it is gone."""
        return 0 if self.connection is None or self.connection.ended else self.connection.process.pid

    @property
    def busy(self) -> bool:
        """By its own word."""
        return self._progress.going_on

    @property
    def idle_since(self) -> float:
        """When it last said that something ended."""
        return self._progress.last_end

    @property
    def last_words(self) -> str:
        return "" if self.connection is None else self.connection.words.text

    def _notify(self, method: str, params: object) -> None:
        if self.connection is not None:
            self.connection.notify(method, params)

    def _stir(self, changed: Document) -> None:
        """What the server says of the other files may change by this."""
        for path, told in self._told.items():
            if path != changed.absolute:
                told.stirred = _now()

    def _pull_options(self) -> Mapping[str, Any] | None:
        dynamic = [options for method, options in self._registered.values() if method == _PULL]
        return dynamic[-1] if dynamic else self.abilities.pull

    async def _pull(self, document: Document) -> object:
        if self.connection is None:
            raise GoneError
        identifier = (self._pull_options() or {}).get("identifier")
        named = {"identifier": identifier} if isinstance(identifier, str) else {}
        return await self.connection.request(_PULL, {"textDocument": document.identifier} | named)

    def _is_unready(self, report: object) -> bool:
        """oxlint says that all is well while it asks for its settings, and reads its rules by them."""
        clean = isinstance(report, dict) and not report.get("items")
        return clean and self._asked_for_settings and not self._answered_once

    async def _ask_tsserver(self, document: Document) -> list[Any]:
        found: list[Any] = []
        for request in tsserver.REQUESTS:
            if self.connection is None:
                raise GoneError
            params = tsserver.params(request, document.absolute)
            items = tsserver.items(await self.connection.request("workspace/executeCommand", params))
            if items is None:
                raise ResponseError(0, "no answer of TypeScript's server")
            found += items
        return found

    async def _has_told_all(self, told: Told) -> bool:
        """Once it has; not where the server says meanwhile that it can be asked: a busy one is late with that."""
        while self._pull_options() is None:
            news = self._news
            again = look_again(told, self._progress, _now(), self._pauses)
            if again == 0:
                told.opened = False
                return True
            if self.connection is None or self.connection.ended:
                raise GoneError
            try:
                async with asyncio.timeout_at(again):
                    await news.wait()
            except TimeoutError:
                continue  # it is time to look again
        return False

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _ended(self) -> None:
        self._pull_known.set()
        self._tell()
        self._on_end()

    def _notified(self, method: str, params: object) -> None:
        if not isinstance(params, dict):
            return
        if method == "textDocument/publishDiagnostics":
            path = path_of(params.get("uri"))
            told = self._told.get(path)
            if told is not None and told.publish(params.get("diagnostics"), params.get("version"), _now()):
                self._tell()
                self._on_told(path)
        elif method == "$/progress":
            value = params.get("value")
            kind = value.get("kind") if isinstance(value, dict) else None
            self._progress.hear(params.get("token"), kind, _now())
            self._tell()

    def _asked(self, method: str, params: object) -> object:
        given: dict[str, Any] = params if isinstance(params, dict) else {}
        match method:
            case "workspace/configuration":
                self._asked_for_settings = True
                items = given.get("items")
                return [self._setting(item) for item in items] if isinstance(items, list) else []
            case "client/registerCapability":
                self._register(given.get("registrations"))
            case "client/unregisterCapability":
                self._unregister(given.get("unregisterations"))
            case "workspace/diagnostic/refresh":
                self._refreshes.hear()
                for path in self._told:
                    self._on_told(path)
            case "window/workDoneProgress/create" | "window/showMessageRequest":
                pass
            case "workspace/applyEdit":
                return {"applied": False}
            case "workspace/workspaceFolders":
                folder = self._program.folder
                return [{"uri": uri_of(str(folder)), "name": folder.name}]
            case _ if method.startswith("workspace/") and method.endswith("/refresh"):
                pass
            case _:
                raise ResponseError(METHOD_NOT_FOUND, "method not found")
        return None

    def _setting(self, item: object) -> object:
        section = item.get("section") if isinstance(item, dict) else None
        value: object = self._program.settings
        for name in section.split(".") if isinstance(section, str) and section else ():
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _register(self, registrations: object) -> None:
        for one in registrations if isinstance(registrations, list) else ():
            identity, method = (one.get("id"), one.get("method")) if isinstance(one, dict) else (None, None)
            if not isinstance(identity, str) or not isinstance(method, str):
                continue
            if len(self._registered) < _MOST_REGISTERED:
                options = one.get("registerOptions")
                self._registered[identity] = (method, options if isinstance(options, dict) else {})
            if method == _PULL:
                self._pull_known.set()
                self._tell()

    def _unregister(self, registrations: object) -> None:
        for one in registrations if isinstance(registrations, list) else ():
            if isinstance(one, dict) and isinstance(one.get("id"), str):
                self._registered.pop(one["id"], None)


def _now() -> float:
    return asyncio.get_running_loop().time()

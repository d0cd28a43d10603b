"""TypeScript's own server before version 7, spoken to as if it spoke the protocol of language servers: what is sent is
put in its words, and what it says in ours. So every project that has a TypeScript has a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bot.workshop.host.lsp import tsserver
from bot.workshop.host.lsp.frames import Frames, Message
from bot.workshop.host.lsp.uris import path_of

_KINDS = {"typescript": "TS", "typescriptreact": "TSX", "javascript": "JS", "javascriptreact": "JSX"}
_LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029]")
"""As it counts lines."""

_CAPABILITIES = {
    "textDocumentSync": {"openClose": True, "change": 1, "save": False},
    "diagnosticProvider": {},
}
_PROGRESS = {"projectLoadingStart": "begin", "projectLoadingFinish": "end"}
_OUTDATED = "projectsUpdatedInBackground"
_FAILED = -32803

_Reply = Callable[[Message], Message | None]
"""Makes what it answered to a request into what our side waits for."""


class TsserverTalk:
    def __init__(self, most: int) -> None:
        self._frames = Frames(most)
        self._root = ""
        self._last = self._refreshes = 0
        self._replies: dict[int, _Reply] = {}
        self._ends: dict[str, tuple[int, int]] = {}
        """Line and column after the last letter of each file that is open."""

    def encode(self, message: Message) -> bytes:
        """Nothing where it has no use for the message, as for an answer to what it never asked itself."""
        identity, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                self._root = path_of(params.get("rootUri"))
                return self._sent("configure", {"hostInfo": "slash-agent"}) + self._sent(
                    "status", reply=lambda said: {"id": identity, "result": _initialized(said)}
                )
            case "textDocument/didOpen":
                return self._open(params["textDocument"])
            case "textDocument/didChange":
                return self._change(
                    path_of(params["textDocument"]["uri"]), params["contentChanges"][-1]["text"]
                )
            case "textDocument/didClose":
                path = path_of(params["textDocument"]["uri"])
                return self._sent("close", {"file": path}) if self._ends.pop(path, None) else b""
            case "textDocument/diagnostic":
                return self._ask(identity, path_of(params["textDocument"]["uri"]))
            case "shutdown":
                return self._sent("status", reply=lambda said: {"id": identity, "result": None})
            case "exit":
                return self._sent("exit")
        return b""

    def feed(self, data: bytes) -> Iterator[Message]:
        """Raises `FrameError`."""
        for said in self._frames.feed(data):
            if said.get("type") == "response":
                number = said.get("request_seq")
                reply = self._replies.pop(number, None) if type(number) is int else None
                if reply is not None and (made := reply(said)) is not None:
                    yield made
            elif said.get("type") == "event":
                yield from self._event(said.get("event"), said.get("body"))

    def _sent(self, command: str, arguments: object = None, reply: _Reply | None = None) -> bytes:
        self._last += 1
        if reply is not None:
            self._replies[self._last] = reply
        request: Message = {"seq": self._last, "type": "request", "command": command}
        if arguments is not None:
            request["arguments"] = arguments
        return json.dumps(request, separators=(",", ":")).encode("ascii") + b"\n"

    def _open(self, item: Mapping[str, Any]) -> bytes:
        path = path_of(item["uri"])
        self._ends[path] = _end(item["text"])
        return self._sent(
            "open",
            {
                "file": path,
                "fileContent": item["text"],
                "scriptKindName": _KINDS.get(item["languageId"], "TS"),
                "projectRootPath": self._root,
            },
        )

    def _change(self, path: str, text: str) -> bytes:
        if path not in self._ends:
            return b""
        (line, column), self._ends[path] = self._ends[path], _end(text)
        whole = {"file": path, "line": 1, "offset": 1, "endLine": line, "endOffset": column}
        return self._sent("change", {**whole, "insertString": text})

    def _ask(self, identity: object, path: str) -> bytes:
        """It answers for the syntax and for the rest; ours is one answer, made when both are there."""
        found: list[list[Any] | None] = []

        def reply(said: Message) -> Message | None:
            found.append(tsserver.items(said) if said.get("success") is True else None)
            if len(found) < len(tsserver.REQUESTS):
                return None
            if None in found:
                return {
                    "id": identity,
                    "error": {"code": _FAILED, "message": _first_line(said.get("message"))},
                }
            items = [item for part in found for item in part or ()]
            return {"id": identity, "result": {"kind": "full", "items": items}}

        return b"".join(self._sent(request, {"file": path}, reply) for request in tsserver.REQUESTS)

    def _event(self, name: object, body: object) -> Iterator[Message]:
        if name == _OUTDATED:  # it saw a file change that nobody told it of
            self._refreshes += 1
            yield {"id": f"refresh {self._refreshes}", "method": "workspace/diagnostic/refresh"}
        elif isinstance(name, str) and name in _PROGRESS and isinstance(body, dict):
            value = {"kind": _PROGRESS[name]}
            yield {"method": "$/progress", "params": {"token": body.get("projectName"), "value": value}}


def _initialized(said: Message) -> Message:
    body = said.get("body")
    version = body.get("version") if isinstance(body, dict) else None
    return {"capabilities": _CAPABILITIES, "serverInfo": {"name": "tsserver", "version": version}}


def _end(text: str) -> tuple[int, int]:
    """Both from 1, columns in UTF-16."""
    lines = _LINE_ENDS.split(text)
    return len(lines), len(lines[-1].encode("utf-16-le")) // 2 + 1


def _first_line(said: object) -> str:
    return said.partition("\n")[0] if isinstance(said, str) else "no answer of TypeScript's server"

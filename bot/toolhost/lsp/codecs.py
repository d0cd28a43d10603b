"""Encode and decode messages of language servers: LSP framing, and the wire format of TypeScript's own server, which
`TsserverCodec` translates from and to LSP. Received bytes are untrusted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, Protocol

from bot.toolhost.lsp.protocol import TSSERVER_COMMAND, path_of

Message = dict[str, Any]

_MAX_HEADER = 4096
_HEADER_END = b"\r\n\r\n"
_MAX_LENGTH_DIGITS = 10


class Codec(Protocol):
    """Encodes messages for a server and decodes received bytes."""

    def encode(self, message: Message) -> bytes: ...

    def feed(self, data: bytes) -> Iterator[Message]:
        """Raises `FrameError`."""


class FrameError(Exception):
    """The received bytes are not a message, or over the limit. Nothing after them can be decoded."""


def encode_frame(message: Message) -> bytes:
    """One message in one piece: some servers take a header that arrives alone for the whole."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class LspCodec:
    """Decodes incrementally; buffers at most one message and a header."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._length: int | None = None

    def encode(self, message: Message) -> bytes:
        return encode_frame(message)

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are now complete. Raises `FrameError`."""
        self._buffer += data
        while (body := self._next()) is not None:
            yield _decode(body)

    def _next(self) -> bytes | None:
        if self._length is None:
            end = self._buffer.find(_HEADER_END, 0, _MAX_HEADER)
            if end < 0:
                if len(self._buffer) >= _MAX_HEADER:
                    raise FrameError("a message whose header does not end")
                return None
            self._length = self._check_length(_length(bytes(self._buffer[:end])))
            del self._buffer[: end + len(_HEADER_END)]
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body

    def _check_length(self, length: int) -> int:
        if length > self._max_bytes:
            raise FrameError(f"a message of {length:,} bytes; {self._max_bytes:,} are allowed")
        return length


def _length(header: bytes) -> int:
    values: set[bytes] = set()
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            raise FrameError("output that is no message")
        if name.strip().lower() == b"content-length":
            values.add(value.strip())
    value = values.pop() if len(values) == 1 else b""
    if not value.isdigit() or len(value) > _MAX_LENGTH_DIGITS:
        raise FrameError("a message without a length")
    return int(value)


def _decode(body: bytes) -> Message:
    try:
        message = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FrameError("a message that is no JSON") from error
    if not isinstance(message, dict):
        raise FrameError("a message that is no JSON object")
    return message


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


TSSERVER_REQUESTS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync")
"""Suggestions are left out: they are hints."""

_SEVERITY = {"error": 1, "warning": 2}
_HINT = 4


def tsserver_params(request: str, path: str) -> dict[str, Any]:
    """Parameters of `workspace/executeCommand`, for a file by its absolute path."""
    return {"command": TSSERVER_COMMAND, "arguments": [request, {"file": path}]}


def tsserver_diagnostics(response: object) -> list[Any] | None:
    """Diagnostics in LSP's form; None for a malformed response."""
    body = response.get("body") if isinstance(response, dict) else None
    return list(_lsp_diagnostics(body)) if isinstance(body, list) else None


def _lsp_diagnostics(body: list[Any]) -> Iterator[Any]:
    for diagnostic in body:
        if isinstance(diagnostic, dict):
            yield {
                "range": {
                    "start": _position(diagnostic.get("start")),
                    "end": _position(diagnostic.get("end")),
                },
                "severity": _SEVERITY.get(str(diagnostic.get("category")), _HINT),
                "code": diagnostic.get("code"),
                "message": diagnostic.get("text"),
            }


def _position(location: object) -> Mapping[str, Any] | None:
    """tsserver counts lines and columns from 1."""
    line, column = (
        (location.get("line"), location.get("offset")) if isinstance(location, dict) else (None, None)
    )
    if type(line) is not int or type(column) is not int:
        return None
    return {"line": line - 1, "character": column - 1}


_KINDS = {"typescript": "TS", "typescriptreact": "TSX", "javascript": "JS", "javascriptreact": "JSX"}
_LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029]")
"""Line ends by tsserver's count."""

_CAPABILITIES = {
    "textDocumentSync": {"openClose": True, "change": 1, "save": False},
    "diagnosticProvider": {},
}
_PROGRESS = {"projectLoadingStart": "begin", "projectLoadingFinish": "end"}
_OUTDATED_EVENT = "projectsUpdatedInBackground"
_REQUEST_FAILED = -32803

_Reply = Callable[[Message], Message | None]
"""Translates a response into an LSP response; None if that needs another one."""


class TsserverCodec:
    """TypeScript's server before version 7, in the form of a `Codec`: every project with a TypeScript has a server."""

    def __init__(self, max_bytes: int) -> None:
        self._frames = LspCodec(max_bytes)
        self._root = ""
        self._last_seq = self._refreshes = 0
        self._replies: dict[int, _Reply] = {}
        self._end_positions: dict[str, tuple[int, int]] = {}
        """Line and column after the last character of each open file."""

    def encode(self, message: Message) -> bytes:
        """Empty for a message that tsserver has no equivalent of."""
        identity, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                self._root = path_of(params.get("rootUri"))
                return self._request("configure", {"hostInfo": "slash-agent"}) + self._request(
                    "status", reply=lambda response: {"id": identity, "result": _initialized(response)}
                )
            case "textDocument/didOpen":
                return self._open(params["textDocument"])
            case "textDocument/didChange":
                return self._change(
                    path_of(params["textDocument"]["uri"]), params["contentChanges"][-1]["text"]
                )
            case "textDocument/didClose":
                path = path_of(params["textDocument"]["uri"])
                return self._request("close", {"file": path}) if self._end_positions.pop(path, None) else b""
            case "textDocument/diagnostic":
                return self._request_diagnostics(identity, path_of(params["textDocument"]["uri"]))
            case "shutdown":
                return self._request("status", reply=lambda response: {"id": identity, "result": None})
            case "exit":
                return self._request("exit")
        return b""

    def feed(self, data: bytes) -> Iterator[Message]:
        """Raises `FrameError`."""
        for message in self._frames.feed(data):
            if message.get("type") == "response":
                number = message.get("request_seq")
                reply = self._replies.pop(number, None) if type(number) is int else None
                if reply is not None and (answer := reply(message)) is not None:
                    yield answer
            elif message.get("type") == "event":
                yield from self._event(message.get("event"), message.get("body"))

    def _request(self, command: str, arguments: object = None, reply: _Reply | None = None) -> bytes:
        self._last_seq += 1
        if reply is not None:
            self._replies[self._last_seq] = reply
        request: Message = {"seq": self._last_seq, "type": "request", "command": command}
        if arguments is not None:
            request["arguments"] = arguments
        return json.dumps(request, separators=(",", ":")).encode("ascii") + b"\n"

    def _open(self, item: Mapping[str, Any]) -> bytes:
        path = path_of(item["uri"])
        self._end_positions[path] = _end_position(item["text"])
        return self._request(
            "open",
            {
                "file": path,
                "fileContent": item["text"],
                "scriptKindName": _KINDS.get(item["languageId"], "TS"),
                "projectRootPath": self._root,
            },
        )

    def _change(self, path: str, text: str) -> bytes:
        if path not in self._end_positions:
            return b""
        (line, column), self._end_positions[path] = self._end_positions[path], _end_position(text)
        whole = {"file": path, "line": 1, "offset": 1, "endLine": line, "endOffset": column}
        return self._request("change", {**whole, "insertString": text})

    def _request_diagnostics(self, identity: object, path: str) -> bytes:
        """tsserver answers for the syntax and for the rest; the LSP response is made from both."""
        parts: list[list[Any] | None] = []

        def reply(response: Message) -> Message | None:
            parts.append(tsserver_diagnostics(response) if response.get("success") is True else None)
            if len(parts) < len(TSSERVER_REQUESTS):
                return None
            if None in parts:
                return {
                    "id": identity,
                    "error": {"code": _REQUEST_FAILED, "message": _first_line(response.get("message"))},
                }
            items = [item for part in parts for item in part or ()]
            return {"id": identity, "result": {"kind": "full", "items": items}}

        return b"".join(self._request(request, {"file": path}, reply) for request in TSSERVER_REQUESTS)

    def _event(self, name: object, body: object) -> Iterator[Message]:
        if name == _OUTDATED_EVENT:  # a file changed without a notification
            self._refreshes += 1
            yield {"id": f"refresh {self._refreshes}", "method": "workspace/diagnostic/refresh"}
        elif isinstance(name, str) and name in _PROGRESS and isinstance(body, dict):
            value = {"kind": _PROGRESS[name]}
            yield {"method": "$/progress", "params": {"token": body.get("projectName"), "value": value}}


def _initialized(response: Message) -> Message:
    body = response.get("body")
    version = body.get("version") if isinstance(body, dict) else None
    return {"capabilities": _CAPABILITIES, "serverInfo": {"name": "tsserver", "version": version}}


def _end_position(text: str) -> tuple[int, int]:
    """Both from 1, columns in UTF-16."""
    lines = _LINE_ENDS.split(text)
    return len(lines), len(lines[-1].encode("utf-16-le")) // 2 + 1


def _first_line(text: object) -> str:
    return text.partition("\n")[0] if isinstance(text, str) else "no answer of TypeScript's server"

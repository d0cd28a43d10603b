"""A model's API on loopback that answers from a script, in the vendors' wire formats, and records the requests.

    with ModelServer([Call("bash", {"command": "ls"}), Say("Done.")]) as server:
        ...  # ANTHROPIC_BASE_URL=server.url or OPENAI_BASE_URL=server.url + "/v1"
        server.requests[0].json["messages"]

A script is a list of steps, one a request, or a function from `ScriptRequest` to a step. A request beyond the list is
answered with 400, which no client retries. On its own, for benches:

    python -m tests.support.model_server --script echo-hi:50

prints its URL as a line of JSON, and at SIGTERM one line with the timings.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.model_script import (
    Answer,
    Call,
    Hangup,
    Raw,
    Say,
    Script,
    ScriptRequest,
    Status,
    Step,
    Turn,
    as_answer,
    chat_frames,
    messages_frames,
    responses_frames,
)

_SHELLS = ("bash", "shell", "exec_command", "run_shell_command", "execute_command", "terminal")


@dataclass
class Received:
    """One request. Times are `time.monotonic_ns`; `answered_ns` is from just before the answer's last bytes
    were sent, so that whoever has them asks again later; 0 before."""

    path: str
    headers: dict[str, str]
    raw: bytes
    body: bytes
    arrived_ns: int
    answered_ns: int = 0
    connection: int = 0
    json: Any = field(default=None)


class ModelServer:
    """Listens from the moment it is made; `close` (or leaving the `with` block) ends every connection."""

    def __init__(
        self, script: Sequence[Step] | Script, port: int = 0, *, certificate: Path | None = None
    ) -> None:
        """With `certificate` (a PEM file with its key) the server speaks TLS; `url` does not say so."""
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._script: Script = script if callable(script) else _from_list(script)
        self.requests: list[Received] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._connections: dict[int, socket.socket] = {}
        self._accepted = 0
        self._listener = socket.create_server(("127.0.0.1", port), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._accept, daemon=True, name="model-server")
        self._thread.start()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def connections(self) -> int:
        """How many connections were ever accepted."""
        return self._accepted

    def environment(self, key: str = "test-key") -> dict[str, str]:
        """The variables that point the vendors' adapters here."""
        return {
            "ANTHROPIC_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_API_KEY": key,
            "OPENAI_BASE_URL": f"{self.url}/v1",
        }

    def close(self) -> None:
        self._closing.set()
        _shut(self._listener)
        with self._lock:
            connections = list(self._connections.values())
        for connection in connections:
            _shut(connection)
        self._thread.join(timeout=5)

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                number = self._accepted
                self._accepted += 1
                self._connections[number] = connection
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        buffer = b""
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._connections[number] = connection
            while not self._closing.is_set():
                received, buffer = _read_request(connection, buffer, number)
                if received is None or not self._answer(connection, received):
                    return
        except OSError:
            return
        finally:
            _shut(connection)
            with self._lock:
                self._connections.pop(number, None)

    def _answer(self, connection: socket.socket, received: Received) -> bool:
        """Answer one request; false when the connection is over."""
        with self._lock:
            self.requests.append(received)
            number = len(self.requests) - 1
            try:
                received.json = json.loads(received.body or b"null")
                answer = as_answer(self._script(ScriptRequest(number, received.path, received.json or {})))
            except Exception as error:
                answer = Status(400, f"the script failed: {type(error).__name__}: {error}")
        return self._send(connection, received, answer, number)

    def _send(self, connection: socket.socket, received: Received, answer: Answer, number: int) -> bool:
        if isinstance(answer, Hangup):
            return False
        if isinstance(answer, Status):
            _end(
                connection,
                received,
                _plain(answer.code, _error_body(answer), "application/json", answer.headers),
            )
            return True
        if isinstance(answer, Raw):
            _end(connection, received, _plain(200, answer.body, answer.content_type, answer.headers))
            return True
        if answer.delay:
            self._closing.wait(answer.delay)
        body = _frames(received, answer, number)
        return self._stream(connection, received, body, answer)

    def _stream(self, connection: socket.socket, received: Received, body: bytes, turn: Turn) -> bool:
        """The body as one chunked response; cut or stalled where the turn says so."""
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        limit = min(at for at in (turn.drop, turn.stall, len(body)) if at is not None)
        ends = [*sorted({cut for cut in turn.cuts if 0 < cut < limit}), limit]
        packets = [body[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]
        chunks = [b"%x\r\n%s\r\n" % (len(packet), packet) for packet in packets]
        if turn.drop is None and turn.stall is None:
            chunks.append(b"0\r\n\r\n")
        if turn.cuts:
            connection.sendall(head)
            for chunk in chunks[:-1]:
                connection.sendall(chunk)
            _end(connection, received, b"".join(chunks[-1:]))
        else:
            _end(connection, received, head + b"".join(chunks))
        if turn.stall is not None:
            self._closing.wait()
        return turn.drop is None and turn.stall is None


def _from_list(steps: Sequence[Step]) -> Script:
    def script(request: ScriptRequest) -> Step:
        if request.number >= len(steps):
            return Status(400, f"the script has {len(steps)} steps and this is request {request.number + 1}")
        return steps[request.number]

    return script


def _frames(received: Received, turn: Turn, number: int) -> bytes:
    if received.path.split("?")[0].endswith("/messages"):
        return messages_frames(turn, number)
    if received.path.split("?")[0].endswith("/responses"):
        return responses_frames(turn, number)
    options = (received.json or {}).get("stream_options") or {}
    return chat_frames(turn, number, bool(options.get("include_usage")))


def _error_body(status: Status) -> bytes:
    if status.body:
        return status.body.encode()
    if not status.message:
        return b""
    error = {"type": status.kind, "message": status.message, "code": status.kind}
    return json.dumps({"type": "error", "error": error}).encode()


def _plain(code: int, body: bytes, content_type: str, headers: Any) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _end(connection: socket.socket, received: Received, last: bytes) -> None:
    received.answered_ns = time.monotonic_ns()
    connection.sendall(last)


def _read_request(connection: socket.socket, buffer: bytes, number: int) -> tuple[Received | None, bytes]:
    while b"\r\n\r\n" not in buffer:
        data = connection.recv(1 << 16)
        if not data:
            return None, b""
        buffer += data
    head, _, rest = buffer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    length = int(headers.get("content-length", "0"))
    pieces = [rest]
    have = len(rest)
    while have < length:
        data = connection.recv(1 << 20)
        if not data:
            return None, b""
        pieces.append(data)
        have += len(data)
    arrived = time.monotonic_ns()
    everything = b"".join(pieces)
    body = everything[:length]
    received = Received(
        first.split(" ")[1], headers, head + b"\r\n\r\n" + body, body, arrived, connection=number
    )
    return received, everything[length:]


def _shut(endpoint: socket.socket) -> None:
    with contextlib.suppress(OSError):  # not connected any more: closing is what matters
        endpoint.shutdown(socket.SHUT_RDWR)
    endpoint.close()


def echo_hi(turns: int) -> Script:
    """`turns` calls of the request's own shell tool with `echo hi`, then a last word."""

    def script(request: ScriptRequest) -> Step:
        calls = len(request.results)
        if calls >= turns:
            return Say("Done.")
        tools = request.tools
        name = next((shell for shell in _SHELLS if shell in tools), None)
        if name is None:
            return Say("There is no shell tool here.")
        schema = tools[name]
        arguments: dict[str, Any] = {}
        for key in schema.get("required", ["command"]):
            kind = schema.get("properties", {}).get(key, {}).get("type", "string")
            arguments[key] = {"array": ["echo", "hi"], "integer": 10, "number": 10, "boolean": False}.get(
                kind, "echo hi"
            )
        return Call(name, arguments, id=f"call_{calls}")

    return script


_SCRIPTS = {"echo-hi": echo_hi}


def timings(server: ModelServer) -> list[dict[str, Any]]:
    """Per request: path, bytes of the body, arrival and end of the answer in monotonic nanoseconds."""
    return [
        {
            "path": received.path,
            "bytes": len(received.body),
            "arrived_ns": received.arrived_ns,
            "answered_ns": received.answered_ns,
        }
        for received in list(server.requests)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model on loopback.")
    parser.add_argument("--script", default="echo-hi:50", metavar="NAME:N", help=f"one of {sorted(_SCRIPTS)}")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    name, _, number = options.script.partition(":")
    # A pipe, not an Event: a handler that sets an Event deadlocks when it interrupts the wait's own locking.
    woken, wake = os.pipe()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: os.write(wake, b"!"))
    with ModelServer(_SCRIPTS[name](int(number or "50")), options.port) as server:
        print(json.dumps({"url": server.url, "openai_url": f"{server.url}/v1"}), flush=True)
        os.read(woken, 1)
        print(json.dumps({"requests": timings(server)}), flush=True)


if __name__ == "__main__":
    main()

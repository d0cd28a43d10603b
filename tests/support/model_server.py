"""A model's API on loopback that answers from a script, in the vendors' wire formats, and records the requests.

    with ModelServer([Call("bash", {"command": "ls"}), Say("Done.")]) as server:
        ...  # ANTHROPIC_BASE_URL=server.url or OPENAI_BASE_URL=server.url + "/v1"
        server.requests[0].json["messages"]

A script is a list of steps, one a request, or a function from `ScriptRequest` to a step. A request beyond the list is
answered with 400, which no client retries.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.loopback import Handler, Loopback
from tests.support.model_script import (
    Answer,
    Hangup,
    Raw,
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
    json: Any = field(default=None)


class ModelServer(Loopback):
    """Listens from the moment it is made; `close` (or leaving the `with` block) ends every connection."""

    def __init__(
        self, script: Sequence[Step] | Script, port: int = 0, *, certificate: Path | None = None
    ) -> None:
        """`certificate` as in `Loopback`."""
        self._script: Script = script if callable(script) else _from_list(script)
        self.requests: list[Received] = []
        self.connections = 0
        """How many connections were ever accepted."""
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        super().__init__(_Handler, port, certificate=certificate)

    def environment(self, key: str = "test-key") -> dict[str, str]:
        """The variables that point the vendors' adapters here."""
        return {
            "ANTHROPIC_API_KEY": key,
            "ANTHROPIC_BASE_URL": self.url,
            "OPENAI_API_KEY": key,
            "OPENAI_BASE_URL": f"{self.url}/v1",
        }

    def close(self) -> None:
        self.closing.set()
        super().close()
        with self._lock:
            for connection in self._sockets:
                with contextlib.suppress(OSError):  # not connected any more
                    connection.shutdown(socket.SHUT_RDWR)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self.connections += 1
            self._sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._sockets.discard(request)
        super().shutdown_request(request)

    def answer_to(self, received: Received) -> tuple[int, Answer]:
        """The number of the request, from 0, and the script's answer."""
        with self._lock:
            self.requests.append(received)
            number = len(self.requests) - 1
            try:
                received.json = json.loads(received.body or b"null")
                return number, as_answer(
                    self._script(ScriptRequest(number, received.path, received.json or {}))
                )
            except Exception as error:
                return number, Status(400, f"the script failed: {type(error).__name__}: {error}")


class _Handler(Handler):
    """One connection."""

    server: ModelServer
    received: Received

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        raw = f"{self.requestline}\r\n{head}\r\n".encode("latin-1") + body
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.received = Received(self.path, headers, raw, body, time.monotonic_ns())
        number, answer = self.server.answer_to(self.received)
        match answer:
            case Hangup():
                self.close_connection = True
            case Status():
                self._send(answer.code, _error_body(answer), "application/json", answer.headers)
            case Raw():
                self._send(200, answer.body, answer.content_type, answer.headers)
            case Turn():
                self.server.closing.wait(answer.delay)
                self._stream(_frames(self.received, answer, number), answer)

    do_GET = do_POST

    def _send(self, code: int, body: bytes, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response_only(code, "Scripted")
        for name, value in {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self._write_last(body)

    def _stream(self, body: bytes, turn: Turn) -> None:
        """The body as one chunked response; cut or stalled where the turn says so."""
        self.send_response_only(200)
        for name, value in {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}.items():
            self.send_header(name, value)
        limit = min(at for at in (turn.drop, turn.stall, len(body)) if at is not None)
        ends = [*sorted({cut for cut in turn.cuts if 0 < cut < limit}), limit]
        packets = [body[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]
        chunks = [b"%x\r\n%s\r\n" % (len(packet), packet) for packet in packets]
        if turn.drop is None and turn.stall is None:
            chunks.append(b"0\r\n\r\n")
        else:
            self.close_connection = True
        self.end_headers()
        for chunk in chunks[:-1] if turn.cuts else ():
            self.wfile.write(chunk)
        self._write_last(b"".join(chunks[-1:] if turn.cuts else chunks))
        if turn.stall is not None:
            self.server.closing.wait()

    def _write_last(self, data: bytes) -> None:
        self.received.answered_ns = time.monotonic_ns()
        self.wfile.write(data)


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

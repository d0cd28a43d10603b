"""JSON-RPC over the pipes of one server process: requests in both directions, notifications, the end of the process.

Everything here runs on the loop's thread. Invalid input raises nothing: it closes the connection, with the reason in
`closed_reason`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Callable
from typing import Any

from bot.toolhost.lsp.codecs import Codec, FrameError, Message
from bot.toolhost.lsp.process import StderrTail, TrafficLimits, exit_reason, kill

METHOD_NOT_FOUND = -32601

_POLL = 0.01
_MAX_POLLS = 100
"""Polls for a killed process, and the seconds between two."""

_LAST_OUTPUT = 0.2
"""Seconds to read the pipe of an ended process, which a child of it may hold open."""


class ResponseError(Exception):
    """The answer to a request is an error."""

    def __init__(self, code: int, message: str = "", data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class ConnectionClosedError(Exception):
    """The server has ended; no answer will come."""


class Connection:
    """`on_request` returns the result of a server's request or raises `ResponseError`; `on_close` is called once.
    `attach` opens it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        codec: Codec,
        limits: TrafficLimits,
        *,
        on_request: Callable[[str, object], object],
        on_notification: Callable[[str, object], None],
        on_close: Callable[[], None],
    ) -> None:
        self.process = process
        self.stderr = StderrTail()
        self.closed_reason = ""
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_close = on_close
        self._limits = limits
        self._codec = codec
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._bytes = self._messages = 0
        self._readers: list[asyncio.ReadTransport] = []
        self._writer: asyncio.WriteTransport | None = None
        self._pidfd = -1
        self._output_closed_early = False

    async def attach(self) -> None:
        loop = asyncio.get_running_loop()
        process = self.process
        self._pidfd = os.pidfd_open(process.pid)
        loop.add_reader(self._pidfd, self._process_ended)
        self._writer, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
        output, _ = await loop.connect_read_pipe(
            lambda: _Pipe(self._received, self._output_closed), process.stdout
        )
        errors, _ = await loop.connect_read_pipe(lambda: _Pipe(self._stderr_received), process.stderr)
        self._readers = [output, errors]
        if self.closed_reason:  # meanwhile
            self._release()
            raise ConnectionClosedError(self.closed_reason)

    async def request(self, method: str, params: object = None) -> Any:
        """Return the result, of any JSON type. Raises `ResponseError` and `ConnectionClosedError`. A cancelled wait
        cancels the request."""
        self._last_id += 1
        identity = self._last_id
        future = asyncio.get_running_loop().create_future()
        self._pending[identity] = future
        try:
            self._send({"id": identity, "method": method} | _params_field(params))
            return await future
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": identity})
            raise
        finally:
            self._pending.pop(identity, None)

    def notify(self, method: str, params: object = None) -> None:
        with contextlib.suppress(ConnectionClosedError):
            self._send({"method": method} | _params_field(params))

    def close(self, reason: str) -> None:
        """Kill the process and fail all pending requests."""
        if self.closed_reason:
            return
        self.closed_reason = reason
        kill(self.process)
        self._read_rest_of_stderr()
        self._release()
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(ConnectionClosedError(reason))
        self._on_close()

    async def wait_reaped(self) -> None:
        """Wait until the killed process is reaped, about a second at most."""
        for _ in range(_MAX_POLLS):
            if self.process.poll() is not None:
                return
            await asyncio.sleep(_POLL)

    def _send(self, message: Message) -> None:
        if self.closed_reason or self._writer is None:
            raise ConnectionClosedError(self.closed_reason)
        self._bytes = self._messages = 0
        self._write(message)

    def _write(self, message: Message) -> None:
        if self._writer is None or self.closed_reason:
            return
        self._writer.write(self._codec.encode({"jsonrpc": "2.0"} | message))
        if self._writer.get_write_buffer_size() > self._limits.unread:
            self.close("it does not read what it is sent")

    def _received(self, data: bytes) -> None:
        self._bytes += len(data)
        try:
            for message in self._codec.feed(data):
                self._messages += 1
                self._dispatch(message)
                if self.closed_reason:
                    return
        except FrameError as error:
            self.close(f"it sent {error}")
        self._check_volume()

    def _stderr_received(self, data: bytes) -> None:
        self._bytes += len(data)
        self.stderr.add(data)
        self._check_volume()

    def _check_volume(self) -> None:
        if self._bytes > self._limits.received or self._messages > self._limits.messages:
            self.close(f"it sent {self._messages:,} messages, {self._bytes:,} bytes, without a request")

    def _dispatch(self, message: Message) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            self._handle_response(message)
        elif "id" in message:
            self._handle_request(message["id"], method, message.get("params"))
        else:
            self._on_notification(method, message.get("params"))

    def _handle_response(self, message: Message) -> None:
        identity = message.get("id")
        future = self._pending.get(identity) if type(identity) is int else None
        if future is None or future.done():
            return  # cancelled, or unknown
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(_response_error(error))

    def _handle_request(self, identity: object, method: str, params: object) -> None:
        if type(identity) not in (int, str):
            return  # null and others name no request
        try:
            answer: Message = {"result": self._on_request(method, params)}
        except ResponseError as error:
            answer = {"error": {"code": error.code, "message": str(error)}}
        self._write({"id": identity} | answer)

    def _process_ended(self) -> None:
        """Read the rest of its output for a moment."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self.process.poll()
        if self._output_closed_early:
            self._finish()
        else:
            loop.call_later(_LAST_OUTPUT, self._finish)

    def _output_closed(self) -> None:
        self._output_closed_early = True
        if self.process.poll() is None:  # its exit follows as a rule, and gives a better reason
            asyncio.get_running_loop().call_later(_LAST_OUTPUT, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        self.close(exit_reason(self.process))

    def _release(self) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.abort()
        for output in self._readers:
            output.close()

    def _read_rest_of_stderr(self) -> None:
        """The data that is in the pipe already."""
        if self.process.stderr is not None and not self.process.stderr.closed:
            with contextlib.suppress(OSError):
                self.stderr.add(os.read(self.process.stderr.fileno(), 1 << 16))


class _Pipe(asyncio.Protocol):
    def __init__(self, on_data: Callable[[bytes], None], on_close: Callable[[], None] | None = None) -> None:
        self._dispatch = on_data
        self._on_close = on_close

    def data_received(self, data: bytes) -> None:
        self._dispatch(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._on_close is not None:
            self._on_close()


def _params_field(params: object) -> Message:
    """Omitted if there are none: some servers reject `null`."""
    return {} if params is None else {"params": params}


def _response_error(error: object) -> ResponseError:
    if not isinstance(error, dict):
        return ResponseError(0, "an error without a message")
    code, message = error.get("code"), error.get("message")
    return ResponseError(
        code if type(code) is int else 0, message[:500] if isinstance(message, str) else "", error.get("data")
    )

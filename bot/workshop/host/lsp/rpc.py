"""JSON-RPC with one server process: requests and their answers, the server's own requests, its notifications, its end.

Everything here runs on the loop's thread. Nothing that a server sends raises out of here: what cannot be believed ends
the connection, with the reason in `ended`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Callable
from typing import Any

from bot.workshop.host.lsp import processes
from bot.workshop.host.lsp.bounds import Bounds
from bot.workshop.host.lsp.frames import FrameError, Message, Talk

METHOD_NOT_FOUND = -32601
CANCELLED = -32800

_LOOK = 0.01
_REAPING = 100
"""So many looks, so many seconds apart."""

_LAST_OUTPUT = 0.2
"""Seconds for the pipe of a process that ended, which a child of it may hold open."""


class ResponseError(Exception):
    """A request was answered by an error."""

    def __init__(self, code: int, message: str = "", data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class GoneError(Exception):
    """The server is gone, and with it all answers."""


class Connection:
    """With a process that `attach` was called for.

    `on_request` returns the result for a request of the server or raises `ResponseError`; `on_notification` takes the
    rest; `on_end` is called once, when nothing will come any more.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        talk: Talk,
        bounds: Bounds,
        on_request: Callable[[str, object], object],
        on_notification: Callable[[str, object], None],
        on_end: Callable[[], None],
    ) -> None:
        self.process = process
        self.words = processes.LastWords()
        self.ended = ""
        self._on_request = on_request
        self._on_notification = on_notification
        self._on_end = on_end
        self._bounds = bounds
        self._talk = talk
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._bytes = self._messages = 0
        self._outputs: list[asyncio.ReadTransport] = []
        self._input: asyncio.WriteTransport | None = None
        self._pidfd = -1
        self._output_is_over = False

    async def attach(self) -> None:
        loop = asyncio.get_running_loop()
        process = self.process
        self._pidfd = os.pidfd_open(process.pid)
        loop.add_reader(self._pidfd, self._process_ended)
        self._input, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
        output, _ = await loop.connect_read_pipe(
            lambda: _Pipe(self._received, self._output_closed), process.stdout
        )
        errors, _ = await loop.connect_read_pipe(lambda: _Pipe(self._complained), process.stderr)
        self._outputs = [output, errors]
        if self.ended:  # meanwhile
            self._let_go()
            raise GoneError(self.ended)

    async def request(self, method: str, params: object = None) -> Any:
        """Its result, of any JSON type. Raises `ResponseError` and `GoneError`; where the waiting is cancelled the
        server is told so."""
        self._last_id += 1
        identity = self._last_id
        future = asyncio.get_running_loop().create_future()
        self._pending[identity] = future
        try:
            self._send({"id": identity, "method": method} | _given(params))
            return await future
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": identity})
            raise
        finally:
            self._pending.pop(identity, None)

    def notify(self, method: str, params: object = None) -> None:
        with contextlib.suppress(GoneError):
            self._send({"method": method} | _given(params))

    def close(self, reason: str) -> None:
        """End the process and everything that waits for it."""
        if self.ended:
            return
        self.ended = reason
        processes.end(self.process)
        self._take_last_words()
        self._let_go()
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(GoneError(reason))
        self._on_end()

    async def reaped(self) -> None:
        """Wait for the end of a process that was killed; the kernel takes a moment."""
        for _ in range(_REAPING):
            if self.process.poll() is not None:
                return
            await asyncio.sleep(_LOOK)

    def _send(self, message: Message) -> None:
        if self.ended or self._input is None:
            raise GoneError(self.ended)
        self._bytes = self._messages = 0
        self._write(message)

    def _write(self, message: Message) -> None:
        if self._input is None or self.ended:
            return
        self._input.write(self._talk.encode({"jsonrpc": "2.0"} | message))
        if self._input.get_write_buffer_size() > self._bounds.unread:
            self.close("it does not read what it is sent")

    def _received(self, data: bytes) -> None:
        self._bytes += len(data)
        try:
            for message in self._talk.feed(data):
                self._messages += 1
                self._take(message)
                if self.ended:
                    return
        except FrameError as error:
            self.close(f"it sent {error}")
        self._look_at_the_amount()

    def _complained(self, data: bytes) -> None:
        """To read it costs time too."""
        self._bytes += len(data)
        self.words.add(data)
        self._look_at_the_amount()

    def _look_at_the_amount(self) -> None:
        if self._bytes > self._bounds.sent or self._messages > self._bounds.messages:
            self.close(f"it sent {self._messages:,} messages, {self._bytes:,} bytes, that nobody asked for")

    def _take(self, message: Message) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            self._answered(message)
        elif "id" in message:
            self._asked(message["id"], method, message.get("params"))
        else:
            self._on_notification(method, message.get("params"))

    def _answered(self, message: Message) -> None:
        identity = message.get("id")
        future = self._pending.get(identity) if type(identity) is int else None
        if future is None or future.done():
            return  # it was cancelled, or is nobody's
        error = message.get("error")
        if error is None:
            future.set_result(message.get("result"))
        else:
            future.set_exception(_response_error(error))

    def _asked(self, identity: object, method: str, params: object) -> None:
        if type(identity) not in (int, str):
            return  # null and others name no request
        try:
            answer: Message = {"result": self._on_request(method, params)}
        except ResponseError as error:
            answer = {"error": {"code": error.code, "message": str(error)}}
        self._write({"id": identity} | answer)

    def _process_ended(self) -> None:
        """What it had written is still to be read, but not for longer than a moment."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self.process.poll()
        if self._output_is_over:
            self._finish()
        else:
            loop.call_later(_LAST_OUTPUT, self._finish)

    def _output_closed(self) -> None:
        self._output_is_over = True
        if self.process.poll() is None:  # as a rule its end follows, and says more
            asyncio.get_running_loop().call_later(_LAST_OUTPUT, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        self.close(processes.exit_words(self.process))

    def _let_go(self) -> None:
        if self._input is not None and not self._input.is_closing():
            self._input.abort()
        for output in self._outputs:
            output.close()

    def _take_last_words(self) -> None:
        """What is in the pipe already."""
        if self.process.stderr is not None and not self.process.stderr.closed:
            with contextlib.suppress(OSError):
                self.words.add(os.read(self.process.stderr.fileno(), 1 << 16))


class _Pipe(asyncio.Protocol):
    def __init__(self, take: Callable[[bytes], None], lost: Callable[[], None] | None = None) -> None:
        self._take = take
        self._lost = lost

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._lost is not None:
            self._lost()


def _given(params: object) -> Message:
    """Left out where there are none: some servers take `null` for an error."""
    return {} if params is None else {"params": params}


def _response_error(error: object) -> ResponseError:
    if not isinstance(error, dict):
        return ResponseError(0, "an error without a word")
    code, message = error.get("code"), error.get("message")
    return ResponseError(
        code if type(code) is int else 0, message[:500] if isinstance(message, str) else "", error.get("data")
    )

"""Frames to and from a tool host that may be hostile: every wait has a deadline, every buffer a limit.

The format is that of `bot.contracts.wire`; this is its non-blocking half.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from bot.contracts import wire
from bot.contracts.wire import WireError

_HEADER = 4

_LOOK_EVERY = 1.0
"""Seconds of silence after which the other side is looked at. One that is stopped twice in a row is given up."""

_PIPE = 1 << 16
"""Bytes that a pipe holds."""


class Channel:
    """Owns both descriptors. One thread at a time sends and receives; `wake` may come from any."""

    def __init__(self, incoming: int, outgoing: int, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self._is_stopped = is_stopped
        self._incoming = incoming
        self._outgoing = outgoing
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._wake_lock = threading.Lock()
        self._closed = False
        self._buffer = bytearray()
        os.set_blocking(incoming, False)
        os.set_blocking(outgoing, False)
        self._reading = select.poll()
        self._reading.register(incoming, select.POLLIN)
        self._reading.register(self._wake, select.POLLIN)

    def send(self, message: Mapping[str, Any], deadline: float) -> None:
        """Raises `WireError` when the other side is gone, or takes nothing until `deadline` (monotonic)."""
        view = memoryview(wire.encode(message))
        while view:
            try:
                view = view[os.write(self._outgoing, view) :]
            except BlockingIOError:
                writing = select.poll()
                writing.register(self._outgoing, select.POLLOUT)
                if not writing.poll(_milliseconds_to(deadline)):
                    raise WireError("the other side does not read what it is sent") from None
            except OSError as error:
                raise WireError(f"the other side of the pipe is gone: {error.strerror}") from error

    def receive(self, deadline: float) -> dict[str, Any] | None:
        """The next message; `None` when `wake` was called before one came. Raises `WireError` for the end of
        the pipe, for what is not a frame, for a process that a signal stopped, and at `deadline` (monotonic)."""
        if time.monotonic() > deadline:
            raise WireError("no answer within the time limit")  # also when it sends other things without end
        stopped = False
        while (message := self._take()) is None:
            wait = min(_milliseconds_to(deadline), _LOOK_EVERY * 1000)
            ready = {fd for fd, _ in self._reading.poll(wait)}
            if self._incoming in ready:
                self._fill()
            elif self._wake in ready:
                self._forget_wake()
                return None
            elif time.monotonic() >= deadline:
                raise WireError("no answer within the time limit")
            else:
                stopped, before = self._is_stopped(), stopped
                if stopped and before:
                    raise WireError("a signal stopped it")
        return message

    def wake(self) -> None:
        """Make a `receive` that waits, or else the next one, return `None`. Does nothing once closed."""
        with self._wake_lock:
            if not self._closed:
                os.eventfd_write(self._wake, 1)

    def hang_up(self) -> None:
        """End the pipe to the other side. Safe while another thread uses the channel: no descriptor is freed."""
        with self._wake_lock:
            if not self._closed:
                null = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
                os.dup2(null, self._outgoing, inheritable=False)
                os.close(null)

    def close(self) -> None:
        with self._wake_lock:
            if not self._closed:
                self._closed = True
                for fd in (self._incoming, self._outgoing, self._wake):
                    os.close(fd)

    def _forget_wake(self) -> None:
        try:
            os.eventfd_read(self._wake)
        except BlockingIOError:
            return  # nobody woke us

    def _take(self) -> dict[str, Any] | None:
        if len(self._buffer) < _HEADER:
            return None
        length = int.from_bytes(self._buffer[:_HEADER], "big")
        if length > wire.MAX_FRAME:
            raise WireError(f"a frame of {length} bytes is over the limit of {wire.MAX_FRAME}")
        if len(self._buffer) < _HEADER + length:
            return None
        body = bytes(self._buffer[_HEADER : _HEADER + length])
        del self._buffer[: _HEADER + length]
        return wire.decode(body)

    def _fill(self) -> None:
        try:
            piece = os.read(self._incoming, _PIPE)
        except BlockingIOError:
            return
        except OSError as error:
            raise WireError(f"the pipe cannot be read: {error.strerror}") from error
        if not piece:
            raise WireError("the tool host ended")
        self._buffer += piece


def _milliseconds_to(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic()) * 1000

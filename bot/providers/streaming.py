"""What both adapters share: send, read, turn failures into retries or a last event, obey the cancel token.

A wire format is a `Wire`; this module knows none. It is the only place that waits.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Event, Failed, Retrying
from bot.contracts.messages import Message
from bot.contracts.model import ModelInfo, ModelRequest
from bot.providers.assembly import Assembly
from bot.providers.endpoint import Endpoint, Line
from bot.providers.failures import StreamCut, StreamError, failure_of
from bot.providers.retry import DEFAULT_POLICY, Failure, GiveUp, Policy, next_wait

if TYPE_CHECKING:
    import httpx2


class Reader(Protocol):
    """Reads one response. Nothing a server sends may make it raise anything but `StreamError`."""

    def read(self, event: str, data: Any) -> Iterator[Event]: ...

    def end(self) -> Complete | None:
        """The terminal event, or `None` when the response is not whole."""
        ...


class Wire(Protocol):
    """One vendor's format over that vendor's package."""

    endpoint: Endpoint
    line: Line
    # What sending and reading may raise: the package's errors and its HTTP client's.
    errors: tuple[type[Exception], ...]

    def encode(self, request: ModelRequest) -> bytes: ...

    def send(self, body: bytes) -> httpx2.Response:
        """The streamed response. Raises the package's errors for anything but success."""
        ...

    def reader(self, assembly: Assembly, request: ModelRequest) -> Reader: ...

    def close(self) -> None: ...


_LONGEST_EVENT = 16 * 1024 * 1024


class StreamingProvider:
    """A `bot.contracts.model.Provider` over a wire format. One stream at a time."""

    def __init__(
        self,
        wire: Wire,
        info: ModelInfo,
        policy: Policy = DEFAULT_POLICY,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._wire = wire
        self._errors: tuple[type[Exception], ...] = (*wire.errors, StreamError, StreamCut)
        self._info = info
        self._policy = policy
        self._draw = draw

    @property
    def info(self) -> ModelInfo:
        return self._info

    def close(self) -> None:
        self._wire.close()

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        """Events up to one `Complete` or `Failed`. Leaving the iterator early closes the connection."""
        body = self._wire.encode(request)
        self._wire.line.arm()
        forget = cancel.on_fire(self._wire.line.cut)
        try:
            yield from self._attempts(request, body, cancel)
        finally:
            forget()

    def _attempts(self, request: ModelRequest, body: bytes, cancel: CancelToken) -> Iterator[Event]:
        attempt = 1
        while True:
            assembly = Assembly()
            surfaced = False
            try:
                for event in self._attempt(request, body, assembly, cancel):
                    surfaced = True
                    yield event
                    if isinstance(event, Complete):
                        return
                failure = Failure("the request was canceled")
            except self._errors as error:
                failure = failure_of(error, self._wire.endpoint, self._info.name)
            if cancel.fired:
                yield _canceled(assembly)
                return
            wait = GiveUp() if surfaced else next_wait(failure, attempt, self._policy, self._draw)
            if isinstance(wait, GiveUp):
                yield _failed(failure, wait, assembly)
                return
            yield Retrying(attempt, wait, failure.message)
            if cancel.wait(wait):
                yield _canceled(assembly)
                return
            attempt += 1

    def _attempt(
        self, request: ModelRequest, body: bytes, assembly: Assembly, cancel: CancelToken
    ) -> Iterator[Event]:
        """One request and its response. Ends without `Complete` only when the token fired."""
        import httpx2

        if cancel.wait(0):
            return
        response = self._wire.send(body)
        try:
            reader = self._wire.reader(assembly, request)
            try:
                # To the very end, past the last event: only then is the connection kept for the next turn.
                for frame in httpx2.EventSource(response, max_event_size=_LONGEST_EVENT):
                    if cancel.fired:
                        return
                    if frame.data and frame.data != "[DONE]":
                        yield from reader.read(frame.event, _parsed(frame.data))
            except self._errors:
                # The answer may be whole although the connection then broke, or was never ended.
                if reader.end() is None:
                    raise
            complete = reader.end()
        finally:
            response.close()
        if complete is None:
            raise StreamCut
        yield complete


def _parsed(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamError({"message": f"an event is not JSON: {error}"}) from error


def _failed(failure: Failure, end: GiveUp, assembly: Assembly) -> Failed:
    message = f"{failure.message} ({end.reason})" if end.reason else failure.message
    return Failed(message, failure.status, False, _partial(assembly), assembly.usage, failure.overflow)


def _canceled(assembly: Assembly) -> Failed:
    return Failed("the request was canceled", None, True, _partial(assembly), assembly.usage)


def _partial(assembly: Assembly) -> Message | None:
    return None if assembly.is_empty else assembly.message(truncated=True)

"""The part that all adapters share: send, read, turn failures into retries or a last event, obey the cancel
token.

A wire format is a `Wire`; this module knows none. It is the only place that waits.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message
from bot.contracts.model import Complete, Event, Failed, ModelInfo, ModelRequest, Retrying
from bot.providers.assembly import Assembly
from bot.providers.encoding import ResultPairing
from bot.providers.endpoint import ActiveConnection, Endpoint
from bot.providers.failures import StreamCut, StreamError, StreamTooLong, failure_of
from bot.providers.retry import DEFAULT_POLICY, FailedAttempt, GiveUp, RetryPolicy, next_wait

if TYPE_CHECKING:
    import httpx2


class Frame(Protocol):
    """One server-sent event, or the vendor's equivalent."""

    @property
    def event(self) -> str | None: ...

    @property
    def data(self) -> str: ...


class Reader(Protocol):
    """Reads one response. Whatever a server sends, it raises only `StreamError`."""

    def read(self, event: str, data: Any) -> Iterator[Event]: ...

    def end(self) -> Complete | None:
        """The terminal event, or `None` if the response is incomplete."""
        ...


class Wire(Protocol):
    """One vendor's format."""

    endpoint: Endpoint
    connection: ActiveConnection
    info: ModelInfo
    # The wire format and the model, as parts name them that only these two can read.
    writer: str
    # What sending and reading may raise.
    errors: tuple[type[Exception], ...]

    def encode(self, request: ModelRequest) -> bytes: ...

    def send(self, body: bytes) -> httpx2.Response:
        """The streamed response. Raises one of `errors` for anything but success."""
        ...

    def frames(self, response: httpx2.Response) -> Iterator[Frame]:
        """All events of the response."""
        ...

    def reader(self, assembly: Assembly, request: ModelRequest) -> Reader: ...

    def close(self) -> None: ...


_PAUSED = "pause_turn"
_MAY_STILL_ANSWER = (
    "not asked again, since it may still be working on the answer and bill it; the policy's `models: {{{}: {{timeout: "
    "SECONDS}}}}` sets how long to wait"
)
_MAX_PAUSES = 8
_MAX_INTERRUPTED = 2
"""Limit of interrupted responses to one request: each of them costs money."""
# A guess, for requests that were refused without a reason.
_BYTES_A_TOKEN = 4
_LONG_SHARE = 0.5


class StreamingProvider:
    """A `bot.contracts.model.Provider` over a wire format. One stream at a time."""

    def __init__(
        self,
        wire: Wire,
        policy: RetryPolicy = DEFAULT_POLICY,
        random_fraction: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
        model: str = "",
    ) -> None:
        """`model` is the name it was connected with, `provider/name`."""
        self.model = model
        self._wire = wire
        self._errors: tuple[type[Exception], ...] = (*wire.errors, StreamError, StreamCut, StreamTooLong)
        self._policy = policy
        self._random_fraction = random_fraction
        self._pairs = ResultPairing()
        self._clock = clock

    @property
    def info(self) -> ModelInfo:
        return self._wire.info

    @property
    def endpoint(self) -> Endpoint:
        return self._wire.endpoint

    def adopt(self, info: ModelInfo) -> None:
        """Set the model's info, before the first request."""
        self._wire.info = info
        self._wire.connection.patience = info.timeout

    def close(self) -> None:
        self._wire.close()

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        """Yield events up to one `Complete` or `Failed`. Leaving the iterator early closes the connection."""
        messages = self._pairs.of(request.messages)
        if messages is not request.messages:
            request = replace(request, messages=messages)
        body = self._wire.encode(request)
        self._wire.connection.arm()
        forget = cancel.on_fire(self._wire.connection.cut)
        try:
            yield from self._attempts(request, body, cancel)
        finally:
            forget()

    def _attempts(self, request: ModelRequest, body: bytes, cancel: CancelToken) -> Iterator[Event]:
        attempt, pauses, interrupted = 1, 0, 0
        first_body = body
        deadline = self._clock() + max(self._policy.deadline, self._wire.info.timeout)
        assembly = Assembly(self._wire.writer)
        while True:
            try:
                complete: Complete | None = None
                for event in self._attempt(request, body, assembly, cancel, deadline):
                    if isinstance(event, Complete):
                        complete = event
                    else:
                        yield event
                if complete is not None:
                    paused = complete.raw_reason == _PAUSED and not complete.message.calls
                    if not paused or pauses >= _MAX_PAUSES:
                        yield self._check_window(complete)
                        return
                    pauses += 1
                    assembly.end_response()
                    body = self._wire.encode(_continued(request, complete.message))
                    continue
                failure = FailedAttempt("the request was canceled")
            except self._errors as error:
                failure = failure_of(error, self._wire.endpoint, self._wire.info.name)
                failure = _overflow_by_size(failure, body, self._wire.info)
            if cancel.fired:
                yield _canceled(assembly)
                return
            seconds_left = deadline - self._clock()
            wait = next_wait(failure, attempt, self._policy, self._random_fraction, seconds_left)
            partial = _partial(assembly)
            if partial is not None and interrupted >= _MAX_INTERRUPTED:
                wait = GiveUp(f"after {attempt} attempts") if failure.retryable else GiveUp()
            if failure.unanswered and partial is None:
                wait = GiveUp(_MAY_STILL_ANSWER.format(self.model or self._wire.info.name))
            if isinstance(wait, GiveUp):
                yield _failed(failure, wait, assembly)
                return
            yield Retrying(attempt, wait, failure.message, partial, assembly.total)
            interrupted += partial is not None
            attempt, pauses, body = attempt + 1, 0, first_body
            assembly = Assembly(self._wire.writer)
            if cancel.wait(wait):
                yield _canceled(assembly)
                return

    def _attempt(
        self,
        request: ModelRequest,
        body: bytes,
        assembly: Assembly,
        cancel: CancelToken,
        deadline: float,
    ) -> Iterator[Event]:
        """Send one request and yield its response. Ends without `Complete` only when the token fired."""
        if cancel.wait(0):
            return
        response = self._wire.send(body)
        try:
            reader = self._wire.reader(assembly, request)
            try:
                for frame in self._wire.frames(response):
                    if cancel.fired:
                        return
                    if self._clock() > deadline:
                        raise StreamTooLong(self._policy.deadline)
                    if frame.data and frame.data != "[DONE]":
                        yield from reader.read(frame.event or "", _parsed(frame.data))
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

    def _check_window(self, complete: Complete) -> Complete | Failed:
        """Fail if the prompt exceeds the window and the response is empty: some servers cut a long conversation
        silently."""
        usage, info = complete.usage, self._wire.info
        prompt_tokens = usage.input + usage.cache_read + usage.cache_write
        if not info.known or prompt_tokens <= info.context_window or complete.message.parts:
            return complete
        window = info.context_window
        message = f"{self._wire.endpoint} took {prompt_tokens} tokens, over the window of {window}, and said nothing"
        return Failed(message, partial=None, usage=usage, overflow=True)


def _parsed(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamError({"message": f"an event is not JSON: {error}"}) from error


def _continued(request: ModelRequest, message: Message) -> ModelRequest:
    return replace(request, messages=(*request.messages, message))


def _overflow_by_size(failure: FailedAttempt, body: bytes, info: ModelInfo) -> FailedAttempt:
    """Treat a refusal without a message as an overflow if the request is long: some vendors report no more."""
    long = len(body) / _BYTES_A_TOKEN > info.context_window * _LONG_SHARE
    without_message = failure.status == 400 and not failure.server_message
    return replace(failure, overflow=True) if without_message and long else failure


def _failed(failure: FailedAttempt, end: GiveUp, assembly: Assembly) -> Failed:
    message = f"{failure.message} ({end.reason})" if end.reason else failure.message
    return Failed(message, failure.status, False, _partial(assembly), assembly.total, failure.overflow)


def _canceled(assembly: Assembly) -> Failed:
    return Failed("the request was canceled", None, True, _partial(assembly), assembly.total)


def _partial(assembly: Assembly) -> Message | None:
    return None if assembly.is_empty else assembly.message(truncated=True)

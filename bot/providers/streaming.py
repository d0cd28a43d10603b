"""What all adapters share: send, read, turn failures into retries or a last event, obey the cancel token.

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
from bot.contracts.events import Complete, Event, Failed, Retrying
from bot.contracts.messages import Message
from bot.contracts.model import ModelInfo, ModelRequest
from bot.providers.assembly import Assembly
from bot.providers.endpoint import Endpoint, Line
from bot.providers.failures import LONGEST_EVENT, StreamCut, StreamError, StreamTooLong, failure_of
from bot.providers.pairs import Pairs
from bot.providers.retry import DEFAULT_POLICY, Failure, GiveUp, Policy, next_wait

if TYPE_CHECKING:
    import httpx2


class Frame(Protocol):
    """One server-sent event, or what a vendor has in its place."""

    @property
    def event(self) -> str | None: ...

    @property
    def data(self) -> str: ...


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
    info: ModelInfo
    # The wire format and the model, as parts name them that only these two can read.
    by: str
    # What sending and reading may raise: the package's errors and its HTTP client's.
    errors: tuple[type[Exception], ...]

    def encode(self, request: ModelRequest) -> bytes: ...

    def send(self, body: bytes) -> httpx2.Response:
        """The streamed response. Raises the package's errors for anything but success."""
        ...

    def frames(self, response: httpx2.Response) -> Iterator[Frame]:
        """The response's events, to its very end."""
        ...

    def reader(self, assembly: Assembly, request: ModelRequest) -> Reader: ...

    def close(self) -> None: ...


_PAUSED = "pause_turn"
_MAY_STILL_ANSWER = (
    "not asked again, since it may still be working on the answer and bill it; the policy's `models: {{{}: {{timeout: "
    "SECONDS}}}}` sets how long to wait"
)
_MOST_PAUSES = 8
_MOST_CUT_ANSWERS = 2
"""So many answers of one request are dropped and paid: one that is cut each time would go on for ever."""
# A guess, for requests that were refused without a reason.
_BYTES_A_TOKEN = 4
_LONG_SHARE = 0.5


def events_of(response: httpx2.Response) -> Iterator[Frame]:
    """Server-sent events, to the very end: only then is the connection kept for the next turn."""
    import httpx2

    return iter(httpx2.EventSource(response, max_event_size=LONGEST_EVENT))


class StreamingProvider:
    """A `bot.contracts.model.Provider` over a wire format. One stream at a time."""

    def __init__(
        self,
        wire: Wire,
        policy: Policy = DEFAULT_POLICY,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
        model: str = "",
    ) -> None:
        """`model` is the name it was connected with, `provider/name`."""
        self.model = model
        self._wire = wire
        self._errors: tuple[type[Exception], ...] = (*wire.errors, StreamError, StreamCut, StreamTooLong)
        self._policy = policy
        self._draw = draw
        self._pairs = Pairs()
        self._clock = clock

    @property
    def info(self) -> ModelInfo:
        return self._wire.info

    @property
    def endpoint(self) -> Endpoint:
        return self._wire.endpoint

    def adopt(self, info: ModelInfo) -> None:
        """Take `info` for what the model is, before the first request."""
        self._wire.info = info
        self._wire.line.patience = info.timeout

    def close(self) -> None:
        self._wire.close()

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        """Events up to one `Complete` or `Failed`. Leaving the iterator early closes the connection."""
        messages = self._pairs.of(request.messages)
        if messages is not request.messages:
            request = replace(request, messages=messages)
        body = self._wire.encode(request)
        self._wire.line.arm()
        forget = cancel.on_fire(self._wire.line.cut)
        try:
            yield from self._attempts(request, body, cancel)
        finally:
            forget()

    def _attempts(self, request: ModelRequest, body: bytes, cancel: CancelToken) -> Iterator[Event]:
        attempt, pauses, cut = 1, 0, 0
        first = body
        deadline = self._clock() + max(self._policy.deadline, self._wire.info.timeout)
        assembly = Assembly(self._wire.by)
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
                    if not paused or pauses >= _MOST_PAUSES:
                        yield self._judged(complete)
                        return
                    pauses += 1
                    assembly.settle()
                    body = self._wire.encode(_continued(request, complete.message))
                    continue
                failure = Failure("the request was canceled")
            except self._errors as error:
                failure = failure_of(error, self._wire.endpoint, self._wire.info.name)
                failure = _judged_by_size(failure, body, self._wire.info)
            if cancel.fired:
                yield _canceled(assembly)
                return
            left = deadline - self._clock()
            wait = next_wait(failure, attempt, self._policy, self._draw, left)
            partial = _partial(assembly)
            if partial is not None and cut >= _MOST_CUT_ANSWERS:
                wait = GiveUp(f"after {attempt} attempts") if failure.retryable else GiveUp()
            if failure.unanswered and partial is None:
                wait = GiveUp(_MAY_STILL_ANSWER.format(self.model or self._wire.info.name))
            if isinstance(wait, GiveUp):
                yield _failed(failure, wait, assembly)
                return
            yield Retrying(attempt, wait, failure.message, partial, assembly.total)
            cut += partial is not None
            attempt, pauses, body = attempt + 1, 0, first
            assembly = Assembly(self._wire.by)
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
        """One request and its response. Ends without `Complete` only when the token fired."""
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

    def _judged(self, complete: Complete) -> Complete | Failed:
        """Some servers cut a conversation that is too long without a word, and answer what is left of it."""
        usage, info = complete.usage, self._wire.info
        read = usage.input + usage.cache_read + usage.cache_write
        if not info.known or read <= info.context_window or complete.message.parts:
            return complete
        said = f"{self._wire.endpoint} took {read} tokens, over the window of {info.context_window}, and said nothing"
        return Failed(said, partial=None, usage=usage, overflow=True)


def _parsed(data: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamError({"message": f"an event is not JSON: {error}"}) from error


def _continued(request: ModelRequest, said: Message) -> ModelRequest:
    return replace(request, messages=(*request.messages, said))


def _judged_by_size(failure: Failure, body: bytes, info: ModelInfo) -> Failure:
    """A refusal without a word, of a request that is long: some vendors have no more to say to one too long."""
    long = len(body) / _BYTES_A_TOKEN > info.context_window * _LONG_SHARE
    silent = failure.status == 400 and not failure.said
    return replace(failure, overflow=True) if silent and long else failure


def _failed(failure: Failure, end: GiveUp, assembly: Assembly) -> Failed:
    message = f"{failure.message} ({end.reason})" if end.reason else failure.message
    return Failed(message, failure.status, False, _partial(assembly), assembly.total, failure.overflow)


def _canceled(assembly: Assembly) -> Failed:
    return Failed("the request was canceled", None, True, _partial(assembly), assembly.total)


def _partial(assembly: Assembly) -> Message | None:
    return None if assembly.is_empty else assembly.message(truncated=True)

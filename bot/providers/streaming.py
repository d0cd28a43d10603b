"""The part that all adapters share: send, read, turn failures into retries or a `Failed`, obey the cancel token.

A wire format is a `Wire`; this module knows none. It is the only place that waits.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Message
from bot.contracts.model import (
    Complete,
    Failed,
    ModelInfo,
    ModelOverride,
    ModelRequest,
    OnRetry,
    Provider,
    Retrying,
    unreported,
)
from bot.providers.assembly import TOO_LONG, Reader
from bot.providers.endpoint import Endpoint
from bot.providers.failures import AnswerTooLong, AttemptError, StreamError, failure_of, reported_error
from bot.providers.models import apply_override
from bot.providers.retry import DEFAULT_POLICY, FailedAttempt, GiveUp, RetryPolicy, next_wait

if TYPE_CHECKING:
    from bot.providers.wire import Params, Stream, Wire

_MAY_STILL_ANSWER = (
    "not asked again, since it may still be working on the answer and bill it; the policy's `models: {{{}: {{timeout: "
    "SECONDS}}}}` sets how long to wait"
)
_EVENT = 32
"""Characters that an event counts beside its content: an event without content takes time too."""
_MAX_INTERRUPTED = 2
"""Limit of interrupted responses to one request: each of them costs money."""


class StreamingProvider:
    """A `bot.contracts.model.Provider` over a wire format. One request at a time."""

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
        self._policy = policy
        self._random_fraction = random_fraction
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

    def close(self) -> None:
        self._wire.close()

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        params = self._wire.params(request)
        forget = cancel.on_fire(self._wire.http.cut)
        try:
            return self._attempts(request, params, cancel, retrying)
        finally:
            forget()

    def _attempts(
        self, request: ModelRequest, params: Params, cancel: CancelToken, retrying: OnRetry
    ) -> Complete | Failed:
        attempt, interrupted = 1, 0
        deadline = self._clock() + max(self._policy.deadline, self._wire.info.timeout)
        while True:
            reader = self._wire.reader(len(request.messages))
            try:
                complete = self._attempt(params, reader, cancel, deadline)
                if complete is not None:
                    return complete
                failure = FailedAttempt("the request was canceled")
            except Exception as error:  # noqa: BLE001  The border to the packages, which have errors of many libraries.
                failure = failure_of(error, self._wire.endpoint, self._wire.info.name)
            if cancel.fired:
                return _canceled(reader)
            seconds_left = deadline - self._clock()
            wait = next_wait(failure, attempt, self._policy, self._random_fraction, seconds_left)
            partial = _partial(reader)
            if partial is not None and interrupted >= _MAX_INTERRUPTED:
                wait = GiveUp(f"after {attempt} attempts") if failure.retryable else GiveUp()
            if failure.unanswered and partial is None:
                wait = GiveUp(_MAY_STILL_ANSWER.format(self.model or self._wire.info.name))
            if isinstance(wait, GiveUp):
                is_first = partial is None and not interrupted
                return _failed(failure, wait, reader)._replace(
                    unavailable=failure.is_unavailable and is_first
                )
            retrying(Retrying(attempt, wait, failure.message, partial, reader.usage))
            interrupted += partial is not None
            attempt += 1
            if cancel.wait(wait):
                return _canceled(self._wire.reader(0))

    def _attempt(
        self, params: Params, reader: Reader, cancel: CancelToken, deadline: float
    ) -> Complete | None:
        """Send one request and return its response; `None` only when the token fired."""
        self._wire.http.arm()
        if cancel.wait(0):
            return None
        stream = self._wire.send(params)
        broken: Exception | None = None
        try:
            _check_type(stream, self._wire.endpoint)
            try:
                for event in stream:
                    if cancel.fired:
                        return None
                    if self._clock() > deadline:
                        raise self._too_long()
                    reader.grow(_EVENT)
                    reader.read(event)
            except AnswerTooLong:
                return reader.complete(TOO_LONG)
            except Exception as error:  # noqa: BLE001  as above
                broken = error
            # The answer may be whole although the connection then broke, or was never ended.
            complete = reader.end()
        finally:
            stream.close()
        if complete is None:
            cut = FailedAttempt("the stream ended before the answer was whole", retryable=True)
            raise broken or AttemptError(cut)
        return complete

    def _too_long(self) -> AttemptError:
        limit = f"{self._policy.deadline:.0f} s, the limit of one request"
        return AttemptError(FailedAttempt(f"{self._wire.endpoint} was still answering after {limit}"))


def _check_type(stream: Stream, endpoint: Endpoint) -> None:
    """Raise what a response says that is not a stream: the server's error, or its content type."""
    response = stream.response
    kind = response.headers.get("content-type", "")
    if "event-stream" in kind or "eventstream" in kind:
        return
    data = response.read()
    try:
        error = reported_error(json.loads(data))
    except (ValueError, RecursionError):
        error = None
    if error is not None:
        raise StreamError(error)
    question = f"is {endpoint.url_variable} right? It sent {kind or 'no content type'}."
    raise AttemptError(FailedAttempt(f"{endpoint} did not answer with an event stream; {question}"))


def _failed(failure: FailedAttempt, end: GiveUp, reader: Reader) -> Failed:
    message = f"{failure.message} ({end.reason})" if end.reason else failure.message
    return Failed(message, failure.status, False, _partial(reader), reader.usage, failure.overflow)


def _canceled(reader: Reader) -> Failed:
    return Failed("the request was canceled", None, True, _partial(reader), reader.usage)


def _partial(reader: Reader) -> Message | None:
    return None if reader.is_empty else reader.message(truncated=True)


def apply_overrides(provider: Provider, overrides: Mapping[str, ModelOverride]) -> Provider:
    """Return `provider` with the policy's settings for its model, by the name it was connected with."""

    if overrides and isinstance(provider, StreamingProvider) and provider.model in overrides:
        provider.adopt(apply_override(provider.info, overrides[provider.model]))
    return provider

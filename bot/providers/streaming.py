"""The part that all adapters share: send, read, turn failures into retries or a `Failed`, obey the cancel token.

It knows no wire format, and is the only place that waits.
"""

import json
import logging
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import httpx2
from pydantic import BaseModel

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.messages import Message
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, OnRetry, Retrying, unreported
from bot.providers.assembly import TOO_LONG, Reader
from bot.providers.encoding import JsonObject, clean_tree
from bot.providers.endpoint import Endpoint
from bot.providers.failures import AnswerTooLong, StreamError, failure_of, reported_error
from bot.providers.http_client import HttpClient
from bot.providers.retry import DEFAULT_POLICY, FailedAttempt, next_wait

_MAY_STILL_ANSWER = (
    "not asked again, since it may still be working on the answer and bill it; the policy's `models: {{{}: {{timeout: "
    "SECONDS}}}}` sets how long to wait"
)
_EVENT = 32
"""Characters that an event counts beside its content: an event without content takes time too."""
_MAX_INTERRUPTED = 2
"""Limit of interrupted responses to one request: each of them costs money."""
_AS_SENT: JsonObject = {"mode": "json", "exclude_unset": True, "warnings": False}
_NO_KEY = "none"
"""For the packages, which look for a key in the process environment without one. The HTTP client does not send it."""


class StreamingProvider(ABC):
    """A `bot.contracts.model.Provider` over one wire format, with the vendor's own package. One request at a time.

    `model` is the name it was connected with, `provider/name`; `writer` is that of its messages.
    """

    format: ClassVar[str]
    reader: ClassVar[type[Reader]]
    """That of one response."""
    idle: ClassVar[float]
    """The longest pause in seconds inside an answer."""

    model = ""
    policy = DEFAULT_POLICY
    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, endpoint: Endpoint, info: ModelInfo, client: Callable[..., Any]) -> None:
        """`client` makes the package's client. The options keep it from retries of its own and from the environment."""
        self.endpoint = endpoint
        self.info = info
        self.writer = f"{self.format}/{info.name}"
        self.http = HttpClient(endpoint, patience=info.timeout, idle=self.idle)
        for name in ("anthropic", "openai", "httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)  # a variable has the packages print requests
        parts = urlsplit(endpoint.url)  # its query stays: Azure's has the API version
        options: JsonObject = {
            "base_url": parts._replace(query="", fragment="").geturl(),
            "default_query": dict(parse_qsl(parts.query)),
            "max_retries": 0,
            "http_client": self.http,
        }
        if endpoint.headers is not None:
            options["api_key"] = endpoint.key or _NO_KEY
        try:
            self.client = client(**options)
        except httpx2.InvalidURL as error:
            raise UsageError(f"{endpoint.vendor.url_variable} is not a valid URL: {error}") from error

    @abstractmethod
    def params(self, request: ModelRequest) -> JsonObject:
        """Return the request's fields beside the model: equal requests give equal bytes.

        They are the `extra_body` of the package's method: as typed arguments, the package would walk through every
        message and tool again for each request, 10 ms a turn.
        """

    @abstractmethod
    def send(self, params: JsonObject) -> Any:
        """Send the request once, and return the package's stream of events. Raises for anything but success."""

    def wrote(self, message: Message) -> bool:
        """Whether thinking and `extra` of `message` may be sent."""
        return message.writer in ("", self.writer)

    def close(self) -> None:
        self.http.close()

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        params = clean_tree(self.params(request))
        self.http.patience = self.info.timeout
        attempt, interrupted = 1, 0
        deadline = self.clock() + max(self.policy.deadline, self.info.timeout)
        while True:
            reader = self.reader(self.writer)
            self.http.arm()
            forget = cancel.on_fire(self.http.cut)
            try:
                return self._attempt(params, reader, deadline)
            except Exception as error:  # noqa: BLE001  The border to the packages, which have errors of many libraries.
                failure = failure_of(error, self.endpoint, self.info.name)
            finally:
                forget()
            partial = reader.partial
            if cancel.fired:
                return Failed("the request was cancelled", None, True, partial, reader.usage)
            wait = next_wait(failure, attempt, self.policy, random.random, deadline - self.clock())
            if partial is not None and interrupted >= _MAX_INTERRUPTED:
                wait = f"after {attempt} attempts" if failure.retryable else ""
            if failure.unanswered and partial is None:
                wait = _MAY_STILL_ANSWER.format(self.model or self.info.name)
            if isinstance(wait, str):
                return Failed(
                    f"{failure.message} ({wait})" if wait else failure.message,
                    failure.status,
                    partial=partial,
                    usage=reader.usage,
                    overflow=failure.overflow,
                    unavailable=failure.is_unavailable and partial is None and not interrupted,
                )
            retrying(Retrying(attempt, wait, failure.message, partial, reader.usage))
            interrupted += partial is not None
            attempt += 1
            if cancel.wait(wait):
                return Failed("the request was cancelled", canceled=True)

    def _attempt(self, params: JsonObject, reader: Reader, deadline: float) -> Complete:
        """Send one request and return its response. Raises whatever the packages do, and `FailedAttempt`."""
        failure: Exception = FailedAttempt("the stream ended before the answer was whole", retryable=True)
        with self.send(params) as stream:
            self._check_type(stream.response)
            try:
                for event in stream:
                    if self.clock() > deadline:
                        limit = f"{self.policy.deadline:.0f} s, the limit of one request"
                        raise FailedAttempt(f"{self.endpoint} was still answering after {limit}")
                    reader.grow(_EVENT)
                    # As it was sent: the packages do not validate what they read, so anything may be missing.
                    is_model = isinstance(event, BaseModel)
                    reader.read(event.model_dump(**_AS_SENT) if is_model else event)
            except AnswerTooLong:
                return reader.complete(TOO_LONG)
            except Exception as error:  # noqa: BLE001  as above
                failure = error
            # The answer may be whole although the connection then broke, or was never ended.
            complete = reader.end()
        if complete is None:
            raise failure
        return complete

    def _check_type(self, response: Any) -> None:
        """Raise what a response says that is not a stream: the server's error, or its content type."""
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
        question = f"is {self.endpoint.vendor.url_variable} right? It sent {kind or 'no content type'}."
        raise FailedAttempt(f"{self.endpoint} did not answer with an event stream; {question}")

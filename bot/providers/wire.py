"""What an adapter for one wire format is: it makes requests and reads events with the vendor's own package."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import httpx2

from bot.contracts.errors import UsageError
from bot.contracts.messages import Message
from bot.contracts.model import ModelInfo, ModelRequest
from bot.providers.assembly import Reader
from bot.providers.endpoint import Endpoint
from bot.providers.http_client import HttpClient

NO_KEY = "none"
"""For the packages, which look for a key in the process environment without one. The HTTP client does not send it."""

Params = Mapping[str, Any]
"""The fields of a request beside the model, for the `extra_body` of the package's method: as typed arguments, the
package would walk through every message and tool again for each request, 10 ms a turn."""


Stream = Any
"""A package's stream of events, with its `response` and `close()`."""


class Wire(ABC):
    """An adapter. `writer` is that of its messages."""

    format: ClassVar[str]
    idle: ClassVar[float]
    """The longest pause in seconds inside an answer."""

    client: Any
    """The package's client."""

    def __init__(self, endpoint: Endpoint, info: ModelInfo) -> None:
        self.endpoint = endpoint
        self.info = info
        self.writer = f"{self.format}/{info.name}"
        self.http = HttpClient(
            endpoint, self.headers(endpoint), patience=lambda: self.info.timeout, idle=self.idle
        )
        try:
            self.client = self.open(client_options(endpoint, self.http))
        except httpx2.InvalidURL as error:
            raise UsageError(f"{endpoint.url_variable} is not a valid URL: {error}") from error

    @abstractmethod
    def headers(self, endpoint: Endpoint) -> Mapping[str, str] | None:
        """Return the headers of `HttpClient`."""

    @abstractmethod
    def open(self, options: dict[str, Any]) -> Any:
        """Return the package's client."""

    @abstractmethod
    def params(self, request: ModelRequest) -> Params:
        """Return the request in the package's terms: equal requests give equal bytes."""

    @abstractmethod
    def send(self, params: Params) -> Stream:
        """Send the request once. Raises for anything but success."""

    @abstractmethod
    def reader(self, turn: int) -> Reader:
        """Return the reader of one response; `turn` is as in `Reader`."""

    def wrote(self, message: Message) -> bool:
        """Whether thinking and `extra` of `message` may be sent."""
        return message.writer in ("", self.writer)

    def close(self) -> None:
        self.http.close()


def client_options(endpoint: Endpoint, http: httpx2.Client) -> dict[str, Any]:
    """Return the options that keep a package's client from its own retries and from the process environment."""
    for name in ("anthropic", "openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)  # a variable has the packages print requests
    parts = urlsplit(endpoint.url)  # its query stays: Azure's has the API version
    return {
        "api_key": endpoint.key or NO_KEY,
        "base_url": parts._replace(query="", fragment="").geturl(),
        "default_query": dict(parse_qsl(parts.query)),
        "max_retries": 0,
        "http_client": http,
    }

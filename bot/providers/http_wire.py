"""What all wire formats have in common: one POST, answered by a stream of server-sent events.

Done with httpx2 alone. The vendors' own packages take 0.4 s (openai) and 1 s (anthropic) to import, and a body of bytes
uses nothing of them. docs/decisions.md has the comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from bot.contracts.errors import UsageError
from bot.contracts.model import ModelInfo
from bot.providers.endpoint import ActiveConnection, Endpoint, key_headers, open_client
from bot.providers.failures import MAX_EVENT, StatusError

if TYPE_CHECKING:
    import httpx2

    from bot.providers.streaming import Frame

_MAX_ERROR = 2**20
"""Bytes of an error's body that are read."""


class HttpWire:
    """The part of a `bot.providers.streaming.Wire` that does not depend on the format."""

    format: ClassVar[str]
    """The part of `writer` before the model."""

    path: ClassVar[str]
    """Where requests go, below the endpoint's URL."""

    idle: ClassVar[float]
    """The longest pause in seconds inside an answer."""

    def __init__(
        self, endpoint: Endpoint, info: ModelInfo, *, patience: float | None = None, idle: float | None = None
    ) -> None:
        """`patience` and `idle` are those of `open_client`; without them the model's and the format's count. Raises
        `UsageError` for an address that no request can be sent to."""
        import httpx2

        self.endpoint = endpoint
        self.info = info
        self.writer = f"{self.format}/{info.name}"
        self.connection = ActiveConnection()
        self.errors: tuple[type[Exception], ...] = (StatusError, httpx2.HTTPError, httpx2.StreamError)
        parts = urlsplit(endpoint.url)  # its query stays: Azure's has the API version
        base = parts.path.rstrip("/")
        if self.path.startswith("/v1/"):
            base = base.removesuffix("/v1")  # people set the URL with or without it
        try:
            self._url = httpx2.URL(parts._replace(path=base + self.path).geturl())
        except httpx2.InvalidURL as error:
            raise UsageError(f"{endpoint.url_variable} is not a valid URL: {error}") from error
        self._client = open_client(
            endpoint,
            self.connection,
            self.headers(),
            patience=patience or info.timeout,
            idle=idle or self.idle,
        )

    def headers(self) -> dict[str, str]:
        """Return the headers of every request beside its content's."""
        return key_headers(self.endpoint)

    def send(self, body: bytes) -> httpx2.Response:
        """Return the streamed response to `body`, which is sent unchanged. Raises `StatusError` for anything but
        success, and the HTTP client's errors."""
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        request = self._client.build_request("POST", self._url, content=body, headers=headers)
        response = self._client.send(request, stream=True)
        if response.is_success:
            return response
        try:
            raise StatusError(response.status_code, _error_body(response), response.headers)
        finally:
            response.close()

    def frames(self, response: httpx2.Response) -> Iterator[Frame]:
        """Return the server-sent events up to the very end: only then is the connection reused."""
        import httpx2

        return iter(httpx2.EventSource(response, max_event_size=MAX_EVENT))

    def close(self) -> None:
        self._client.close()
        self.connection.close()


def _error_body(response: httpx2.Response) -> Any:
    """Return an error's body: parsed if it is JSON, otherwise its text."""
    data = b""
    for piece in response.iter_bytes():
        data += piece
        if len(data) >= _MAX_ERROR:
            break
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data[:_MAX_ERROR].decode("utf-8", "replace").strip()

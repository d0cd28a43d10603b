"""The one configured HTTP client that each vendor's package is given: no redirects, nothing from the process
environment, and a socket that another thread can cut."""

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx2

from bot.providers.endpoint import Endpoint
from bot.providers.response_body import ResponseBody

# The packages add telemetry, and whatever their own environment variables name.
_PASSED = frozenset({"connection", "accept", "content-type", "content-length"})


class HttpClient(httpx2.Client):
    """A client for one endpoint, with one connection. Another thread can cut it, which ends a blocked read at once: it
    holds a duplicate of the connection's socket, since the original moves into the TLS layer during the handshake."""

    def __init__(self, endpoint: Endpoint, *, patience: float, idle: float) -> None:
        """The endpoint's headers replace all others but those of the content, if it has any. `patience` is the timeout
        in seconds until a response begins, `idle` the longest pause after that. Redirects are not followed;
        they would send the key to an unknown host."""
        self.patience, self._idle = patience, idle
        self._endpoint_headers = endpoint.headers
        self._cut_lock = threading.Lock()
        self._connected = socket.socket()
        self._is_cut = False
        super().__init__(
            verify=endpoint.verify,
            trust_env=False,
            follow_redirects=False,
            proxy=endpoint.proxy or None,
            limits=httpx2.Limits(max_connections=1, keepalive_expiry=90.0),
            timeout=httpx2.Timeout(60.0, connect=10.0),
            event_hooks={"request": [self._before], "response": [self._after]},
        )

    def arm(self) -> None:
        """Reset an earlier cut for a new stream."""
        self._is_cut = False

    def cut(self) -> None:
        """End the current read, and later connections, until `arm`."""
        self._is_cut = True
        with self._cut_lock, suppress(OSError):  # there is no connection any more
            self._connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        self._connected.close()

    def _before(self, request: httpx2.Request) -> None:
        if self._is_cut:
            raise httpx2.ConnectError("the client was cut before the request")
        if self._endpoint_headers is not None:
            passed = {name: value for name, value in request.headers.items() if name in _PASSED}
            own = {"User-Agent": "slash-agent", "Accept-Encoding": "identity", **self._endpoint_headers}
            request.headers = httpx2.Headers({"Host": request.url.netloc.decode(), **passed, **own})
        request.extensions["trace"] = self._trace
        request.extensions["timeout"]["read"] = self.patience

    def _after(self, response: httpx2.Response) -> None:
        # Read by the transport when the body's first byte is awaited, so it governs the stream alone.
        response.request.extensions["timeout"]["read"] = self._idle
        # None was asked for, and a megabyte may unpack to any number.
        response.headers.pop("content-encoding", None)
        response.stream = ResponseBody(response.stream, self.cut)

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith("connect_tcp.complete"):
            with self._cut_lock:
                self._connected.close()
                self._connected = info["return_value"].get_extra_info("socket").dup()
            if self._is_cut:
                self.cut()

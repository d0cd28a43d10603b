"""The one configured HTTP client that each vendor's package is given: no redirects, nothing from the process
environment, a limit on what a server may send, and a socket that another thread can cut."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import httpx2

from bot.contracts.errors import UsageError
from bot.providers.endpoint import Endpoint
from bot.providers.failures import AnswerTooLong

MAX_RESPONSE = 128 * 2**20
"""Bytes of one response, with what the format adds to the answer: the longest answers take 40 MB of events."""

_MAX_ERROR = 2**20
_CONNECT, _SEND, _KEEPALIVE = 10.0, 60.0, 90.0
# The packages add telemetry, and whatever their own environment variables name.
_PASSED = frozenset({"connection", "accept", "content-type", "content-length"})


class ActiveConnection:
    """The connection in use. Another thread can cut it, which ends a blocked read at once.

    Holds a duplicate of the socket: the original moves into the TLS layer during the handshake.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket = socket.socket()
        self._is_cut = False

    def trace(self, name: str, info: Mapping[str, Any]) -> None:
        """The HTTP client's trace callback."""
        if name.endswith("connect_tcp.complete"):
            with self._lock:
                self._socket.close()
                self._socket = info["return_value"].get_extra_info("socket").dup()
                if self._is_cut:
                    self._shut()

    def arm(self) -> None:
        """Reset an earlier cut for a new stream."""
        with self._lock:
            self._is_cut = False

    def cut(self) -> None:
        """End the current read, and later connections, until `arm`."""
        with self._lock:
            self._is_cut = True
            self._shut()

    def close(self) -> None:
        with self._lock:
            self._socket.close()

    def _shut(self) -> None:
        with suppress(OSError):  # there is no connection any more
            self._socket.shutdown(socket.SHUT_RDWR)


class _Limited(httpx2.SyncByteStream):
    """A response's bytes, up to `MAX_RESPONSE`, and the beginning of an error's."""

    def __init__(self, stream: httpx2.SyncByteStream, *, is_error: bool) -> None:
        self._stream = stream
        self._is_error = is_error

    def __iter__(self) -> Iterator[bytes]:
        left = _MAX_ERROR if self._is_error else MAX_RESPONSE
        for piece in self._stream:
            left -= len(piece)
            if left < 0 and self._is_error:
                return
            if left < 0:
                raise AnswerTooLong
            yield piece

    def close(self) -> None:
        self._stream.close()


def open_client(
    endpoint: Endpoint,
    connection: ActiveConnection,
    headers: Mapping[str, str] | None,
    *,
    patience: Callable[[], float],
    idle: float,
) -> httpx2.Client:
    """Return a client for this endpoint only, with one connection.

    `headers` replace all others but those of the content; `None` leaves a request's headers as a cloud signed them.
    `patience()` is the timeout in seconds until the response begins, `idle` the longest pause after that. Redirects are
    not followed, since they would send the key to an unknown host.
    """

    def before(request: httpx2.Request) -> None:
        if headers is not None:
            passed = {name: value for name, value in request.headers.items() if name in _PASSED}
            own = {"User-Agent": "slash-agent", "Accept-Encoding": "identity", **headers}
            request.headers = httpx2.Headers({"Host": request.url.netloc.decode(), **passed, **own})
        request.extensions["trace"] = connection.trace
        request.extensions["timeout"]["read"] = patience()

    def after(response: httpx2.Response) -> None:
        # Read by the transport when the body's first byte is awaited, so it governs the stream alone.
        response.request.extensions["timeout"]["read"] = idle
        # None was asked for, and a megabyte may unpack to any number.
        response.headers.pop("content-encoding", None)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Limited(response.stream, is_error=not response.is_success)

    transport = httpx2.HTTPTransport(
        verify=_tls(endpoint),
        trust_env=False,
        limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEPALIVE),
        proxy=endpoint.proxy or None,
        socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    )
    return httpx2.Client(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(patience(), connect=_CONNECT, write=_SEND, pool=_CONNECT),
        event_hooks={"request": [before], "response": [after]},
    )


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    if not endpoint.url.startswith("https:") and not endpoint.proxy.startswith("https:"):
        # A context without authorities refuses every server, should TLS be spoken here after all.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not endpoint.ca_file:
        return httpx2.create_ssl_context(trust_env=False)
    try:
        return ssl.create_default_context(cafile=endpoint.ca_file)
    except OSError as error:
        raise UsageError(
            f"SSL_CERT_FILE names {endpoint.ca_file!r}, which cannot be read: {error}"
        ) from error

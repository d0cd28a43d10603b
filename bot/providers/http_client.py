"""The one configured HTTP client that each vendor's package is given: no redirects, nothing from the process
environment, a limit on what a server may send, and a socket that another thread can cut."""

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
_DONE = (b"[DONE]\n\n", b"[DONE]\r\n\r\n", b"[DONE]")
_LINGER = 0.5
"""Seconds that a server may take to end its response after that."""
# The packages add telemetry, and whatever their own environment variables name.
_PASSED = frozenset({"connection", "accept", "content-type", "content-length"})


class _Limited(httpx2.SyncByteStream):
    """A response's bytes, up to `MAX_RESPONSE`, and the beginning of an error's.

    The openai package leaves a stream at `[DONE]`. Read to its end, the connection serves the next request too."""

    def __init__(self, stream: httpx2.SyncByteStream, cut: Callable[[], None], *, is_error: bool) -> None:
        self._stream = stream
        self._cut = cut
        self._pieces = self._limited(is_error)
        self._last = b""

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def _limited(self, is_error: bool) -> Iterator[bytes]:
        left = _MAX_ERROR if is_error else MAX_RESPONSE
        for piece in self._stream:
            left -= len(piece)
            if left < 0:
                if is_error:
                    return
                raise AnswerTooLong
            self._last = piece
            yield piece

    def close(self) -> None:
        if self._last.endswith(_DONE):
            limit = threading.Timer(_LINGER, self._cut)
            limit.start()
            with suppress(httpx2.HTTPError, AnswerTooLong):
                next(self._pieces, None)
            limit.cancel()
        self._stream.close()


class HttpClient(httpx2.Client):
    """A client for one endpoint, with one connection. Another thread can cut it, which ends a blocked read at once.

    Holds a duplicate of the connection's socket: the original moves into the TLS layer during the handshake.
    """

    def __init__(self, endpoint: Endpoint, *, patience: float, idle: float) -> None:
        """The endpoint's headers replace all others but those of the content, if it has any. `patience` is the timeout
        in seconds until a response begins, `idle` the longest pause after that. Redirects are not followed, since they
        would send the key to an unknown host.
        """
        self.patience = patience
        self._endpoint_headers = endpoint.headers
        self._idle = idle
        self._cut_lock = threading.Lock()
        self._connected = socket.socket()
        self._is_cut = False
        transport = httpx2.HTTPTransport(
            verify=_tls(endpoint),
            trust_env=False,
            limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEPALIVE),
            proxy=endpoint.proxy or None,
            socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
        )
        super().__init__(
            transport=transport,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(patience, connect=_CONNECT, write=_SEND, pool=_CONNECT),
            event_hooks={"request": [self._before], "response": [self._after]},
        )

    def arm(self) -> None:
        """Reset an earlier cut for a new stream."""
        with self._cut_lock:
            self._is_cut = False

    def cut(self) -> None:
        """End the current read, and later connections, until `arm`."""
        with self._cut_lock:
            self._is_cut = True
            self._shut()

    def close(self) -> None:
        super().close()
        with self._cut_lock:
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
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Limited(response.stream, self.cut, is_error=not response.is_success)

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith("connect_tcp.complete"):
            with self._cut_lock:
                self._connected.close()
                self._connected = info["return_value"].get_extra_info("socket").dup()
                if self._is_cut:
                    self._shut()

    def _shut(self) -> None:
        with suppress(OSError):  # there is no connection any more
            self._connected.shutdown(socket.SHUT_RDWR)


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

"""The address of a model's server, and the HTTP client for it.

All settings come from the mapping that the caller passes: the client reads no environment variable itself.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.contracts.errors import UsageError

if TYPE_CHECKING:
    import ssl

    import httpx2

_KEEPALIVE = 90.0
_CONNECT = 10.0
_SEND = 60.0
_MESSAGES_VERSION = "2026-10-21"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL with its key, and the names of their variables. `key` is empty for none."""

    url: str
    key: str = field(repr=False)
    url_variable: str
    key_variable: str
    proxy: str = field(default="", repr=False)
    ca_file: str = ""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def is_azure(self) -> bool:
        return self.host.endswith((".azure.com", ".azure.us", ".azure.cn"))

    @property
    def is_openai_itself(self) -> bool:
        return self.host.endswith(".openai.com")

    @property
    def is_openai(self) -> bool:
        """OpenAI itself, or Azure's copy of it: they accept every field of OpenAI's description."""
        return self.is_openai_itself or self.is_azure

    @property
    def is_anthropic(self) -> bool:
        return self.host == "api.anthropic.com"

    def __str__(self) -> str:
        """The URL without parts that may be secret."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path}".rstrip("/")


def read_endpoint(
    environment: Mapping[str, str], url_variable: str, key_variable: str, default_url: str
) -> Endpoint:
    """Return the endpoint from the variables. Raises `UsageError` for an invalid value."""
    url = environment.get(url_variable, "").strip() or default_url
    key = environment.get(key_variable, "").strip()
    if not _is_http_url(url):
        raise UsageError(f"{url_variable} is not an http or https URL: {url!r}")
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"{key_variable} holds characters that no key has; was it copied whole?")
    return Endpoint(
        url.rstrip("/"),
        key,
        url_variable,
        key_variable,
        proxy=_proxy(url, environment),
        ca_file=environment.get("SSL_CERT_FILE", ""),
    )


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # as it is looked up
        return parts.scheme in ("http", "https") and bool(host) and (parts.port or 1) > 0
    except ValueError:
        return False


def _proxy(url: str, environment: Mapping[str, str]) -> str:
    """Return the proxy for `url` from the usual variables, empty for none."""
    scheme = urlsplit(url).scheme
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    if not proxy:
        return ""
    host = urlsplit(url).hostname or ""
    listed = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    no_proxy = [name.strip().lower().lstrip(".") for name in listed.split(",") if name.strip()]
    bypassed = "*" in no_proxy or any(host == name or host.endswith(f".{name}") for name in no_proxy)
    return "" if bypassed or host in ("localhost", "127.0.0.1", "::1") else proxy


class ActiveConnection:
    """The connection in use. Another thread can cut it, which ends a blocked read at once.

    Holds a duplicate of the socket's descriptor: the original moves into the TLS layer during the handshake.
    `patience`, if set, overrides the client's from the next request on.
    """

    def __init__(self) -> None:
        self.patience: float | None = None
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    def trace(self, name: str, info: Mapping[str, Any]) -> None:
        """The HTTP client's trace callback."""
        if not name.endswith("connect_tcp.complete"):
            return
        original = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._release()
            self._socket = socket.socket(fileno=os.dup(original.fileno()))
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
            self._release()

    def _shut(self) -> None:
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The server was faster: the connection is over, which is all that is wanted.
                self._release()

    def _release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def key_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers that carry the endpoint's key; none without a key."""
    if not endpoint.key:
        return {}
    headers = {"Authorization": f"Bearer {endpoint.key}"}
    if endpoint.is_azure:
        headers["api-key"] = endpoint.key  # where an Azure key, unlike an Azure token, is looked for
    return headers


def messages_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of every request to a server of the Messages API."""
    headers = {**key_headers(endpoint), "anthropic-version": _MESSAGES_VERSION}
    if endpoint.key and not endpoint.is_anthropic:
        headers["x-api-key"] = endpoint.key  # where gateways look that do not know the newer header
    return headers


def open_client(
    endpoint: Endpoint,
    connection: ActiveConnection,
    headers: Mapping[str, str],
    *,
    patience: float,
    idle: float,
) -> httpx2.Client:
    """Return a client for this endpoint only: one connection, no redirects, nothing from the environment.

    `headers` are set on every request. `patience` is the timeout in seconds until the response begins, `idle` the
    longest pause after that. Redirects are not followed, since they would send the key to an unknown host.
    """
    import httpx2

    def before(request: httpx2.Request) -> None:
        request.extensions["trace"] = connection.trace
        if connection.patience is not None:
            request.extensions["timeout"]["read"] = connection.patience

    def after(response: httpx2.Response) -> None:
        # Read by the transport when the body's first byte is awaited, so it governs the stream alone.
        response.request.extensions["timeout"]["read"] = idle

    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEPALIVE)
    transport = httpx2.HTTPTransport(
        verify=_tls(endpoint),
        trust_env=False,
        limits=limits,
        proxy=endpoint.proxy or None,
        socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)],
    )
    timeout = httpx2.Timeout(patience, connect=_CONNECT, write=_SEND, pool=_CONNECT)
    hooks: dict[str, list[Any]] = {"request": [before], "response": [after]}
    return httpx2.Client(
        headers={"User-Agent": "slash-agent", **headers},
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=timeout,
        event_hooks=hooks,
    )


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    import ssl

    if not endpoint.url.startswith("https:") and not endpoint.proxy.startswith("https:"):
        # Loading the system's certificates takes 10 to 20 ms. A context without any refuses every server, so
        # that nothing is trusted should TLS be spoken here after all.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if endpoint.ca_file:
        try:
            return ssl.create_default_context(cafile=endpoint.ca_file)
        except OSError as error:
            raise UsageError(
                f"SSL_CERT_FILE names {endpoint.ca_file!r}, which cannot be read: {error}"
            ) from error
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)

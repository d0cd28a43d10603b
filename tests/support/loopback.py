"""Servers on free ports of loopback, each on a thread of its own."""

import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, NamedTuple


class Loopback(ThreadingTCPServer):
    """Listens from the moment it is made until `close` or the end of the `with` block."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, handler: type[BaseRequestHandler], port: int = 0, *, certificate: Path | None = None
    ) -> None:
        """With `certificate` (a PEM file with its key) the server speaks TLS; `url` does not say so."""
        super().__init__(("127.0.0.1", port), handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.port: int = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # the client may go away
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1 that prints nothing."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at what a server recorded."""

    def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """With the length of `body`, unless `headers` announce another or that the connection ends with it."""
        length = {} if "Connection" in headers else {"Content-Length": str(len(body))}
        self.send_response_only(status)
        for name, value in {**length, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Request(NamedTuple):
    """`headers` has names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes


class Response(NamedTuple):
    """`status`, `body` and `headers`."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Listener(Loopback):
    """Answers each request by `respond` and keeps it in `requests`."""

    def __init__(self, respond: Callable[[Request], Response] = lambda _: Response()) -> None:
        self.respond = respond
        self.requests: list[Request] = []
        super().__init__(_Listening)


class _Listening(Handler):
    server: Listener

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, self.rfile.read(int(headers.get("content-length", 0))))
        self.server.requests.append(request)
        self.answer(*self.server.respond(request))

    do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

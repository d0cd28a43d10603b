"""A server like the store that GitHub's downloads redirect to: endless bodies, ranges, broken connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Storage:
    """`content` is the body, `size` the announced length: `None` is its real length, -1 announces nothing. Every path
    but `/signed` redirects to `redirect`, if set."""

    url: str = ""
    content: bytes = b""
    size: int | None = None
    ranges: bool = True
    redirect: str = ""
    statuses: list[int] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def storage() -> Iterator[Storage]:
    """On a port of its own on loopback, until the block ends."""
    state = Storage()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Requests are recorded, not printed."""

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.requests.append((self.path, headers))
            if state.statuses:
                self.send_response(state.statuses.pop(0))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if state.redirect and not self.path.startswith("/signed"):
                self.send_response(302)
                self.send_header("Location", state.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._content(headers.get("range", "") if state.ranges else "")

        def _content(self, byte_range: str) -> None:
            first = int(byte_range.removeprefix("bytes=").removesuffix("-")) if byte_range else 0
            body = state.content[first:]
            self.send_response(206 if byte_range else 200)
            if state.size == -1:
                self.send_header("Connection", "close")
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(len(body) if state.size is None else state.size))
            self.end_headers()
            try:
                self.wfile.write(body)
            except ConnectionError:
                # The client had enough.
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The HTTP server: one port, keep-alive, one thread a connection."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import responses
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import IO, Any
from urllib.parse import parse_qsl, unquote

from slash_forge import access, attachments, errors, pulls, router, smart_http
from slash_forge.access import Caller
from slash_forge.call import Call, Reply, entity_tag
from slash_forge.faults import Exchange, Fault, Faults
from slash_forge.git import GitFailed
from slash_forge.router import ROUTES, Router
from slash_forge.shapes.site import Site
from slash_forge.smart_http import GitRequest
from slash_forge.state import State

_API = "/api/v3"
_GRAPHQL = "/api/graphql"
_SPOOL_BYTES = 1 << 20

# Renders the HTML page of a path with its query for a caller. Raises `ApiError`.
Pages = Callable[[str, Caller], Reply]


class _Dropped(Exception):
    """A fault closes the connection without a response."""


class Server(ThreadingHTTPServer):
    """Started and stopped by `Forge`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, state: State, faults: Faults, pages: Callable[[Site], Pages]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.site = Site(f"http://127.0.0.1:{self.server_address[1]}")
        self.state = state
        self.faults = faults
        self.router = Router(ROUTES)
        self.pages = pages(self.site)
        self.exchanges: list[Exchange] = []
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """No traceback for a client that closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Stop accepting, and close kept-alive connections."""
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):  # the client was faster
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are recorded, not printed."""

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    # -- one request

    def _answer(self) -> None:
        raw, _, self._query = self.path.partition("?")
        self._path = raw
        self._caller = Caller(None)
        self._sent = b""
        headers = {name.lower(): value for name, value in self.headers.items()}
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as body:
            _read_body(self.rfile, headers, body)
            fault = self.server.faults.take(self.command, raw)
            if fault and fault.delay:
                time.sleep(fault.delay)
            try:
                self._dispatch(fault, headers, body)
            except _Dropped:
                self._record(0, {}, b"")
                self.close_connection = True
                with contextlib.suppress(OSError):  # the client may have been faster
                    self.connection.shutdown(socket.SHUT_RDWR)
        self.wfile.flush()

    def _dispatch(self, fault: Fault | None, headers: Mapping[str, str], body: IO[bytes]) -> None:
        if fault and fault.drop and not fault.after_effect:
            raise _Dropped
        query = dict(parse_qsl(self._query, keep_blank_values=True))
        git = smart_http.recognise(unquote(self._path), query)
        try:
            if not self._is_store and not attachments.recognise(self._path):
                self._caller = access.caller(self.server.state, headers.get("authorization"))
            if self._caller.token:
                self._caller.token.used += 1
            if fault and fault.status is not None:
                raise _InjectedReply(fault)
            redirect = self._redirect(git)
            if git and not redirect:
                self._git(git, headers, body, fault)
                return
            if redirect:
                reply = redirect
            elif self._is_api:
                reply = self._api(query, headers, body)
            elif self._is_store:
                reply = attachments.download_reply(self.server.state, self._path, headers)
            elif attachments.recognise(self._path):
                reply = attachments.answer(self.server.state, self.server.site, self._path, query, headers)
            else:
                reply = self.server.pages(self.path, self._caller)
        except _InjectedReply as injected:
            reply = injected.reply
        except errors.ApiError as error:
            reply = _git_error(error) if git else Reply(error.status, error.body())
        except GitFailed as error:
            # Not expected by the operation: a bug of the forge.
            reply = Reply(500, {"message": f"git: {error}", "documentation_url": ""})
        if fault and fault.drop:
            raise _Dropped
        self._send(reply, headers)

    def _redirect(self, git: GitRequest | None) -> Reply | None:
        state, site = self.server.state, self.server.site
        if git:
            return router.redirect_git(state, site, git.full_name, git.rest, self._query)
        return router.redirect(state, site, self.command, self._path.removeprefix(_API), self._query)

    @property
    def _is_api(self) -> bool:
        return self._path.startswith(f"{_API}/") or self._path in (_API, _GRAPHQL)

    @property
    def _is_store(self) -> bool:
        return self._path.startswith(f"{attachments.STORE}/")

    def _api(self, query: Mapping[str, str], headers: Mapping[str, str], body: IO[bytes]) -> Reply:
        path = router.by_name(self.server.state, self._path.removeprefix(_API))
        self._sent = body.read()
        match = self.server.router.find("GET" if self.command == "HEAD" else self.command, path)
        call = Call(
            state=self.server.state,
            site=self.server.site,
            caller=self._caller,
            path=path,
            params=match.params,
            query=query,
            body=_parsed(self._sent),
            accept=headers.get("accept", ""),
        )
        with self.server.state.lock:
            pulls.count_request(self.server.state)
            return attachments.with_html(call, match.operation(call))

    # -- answers

    def _send(self, reply: Reply, headers: Mapping[str, str]) -> None:
        content = reply.encoded()
        out = {"Content-Type": reply.content_type, **reply.headers}
        if self._is_api:
            out.update(access.rate_limit_headers(self._caller, self.server.state.epoch()))
            out["X-GitHub-Request-Id"] = f"F0{len(self.server.exchanges):06X}"
            out["X-GitHub-Media-Type"] = "github.v3; format=json"
        status = reply.status
        if status == 200 and self.command == "GET" and self._is_api:
            out["ETag"] = entity_tag(content)
            if headers.get("if-none-match") == out["ETag"]:
                status, content = 304, b""
                if self._caller.token:
                    # Conditional requests that return 304 are free.
                    self._caller.token.used -= 1
                    out.update(access.rate_limit_headers(self._caller, self.server.state.epoch()))
        if reply.body is None or status == 304:
            out.pop("Content-Type")
        out.update(reply.headers)
        self._record(status, out, content)
        self.send_response(status, responses.get(status, "Unknown"))
        for name, value in out.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _record(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        fields = {
            name.lower(): value for name, value in self.headers.items() if name.lower() != "authorization"
        }
        self.server.exchanges.append(
            Exchange(
                self.command,
                self._path,
                self._query,
                fields,
                self._sent,
                status,
                headers,
                content,
                self._caller.login,
            )
        )

    # -- git

    def _git(
        self, request: GitRequest, headers: Mapping[str, str], body: IO[bytes], fault: Fault | None
    ) -> None:
        with self.server.state.lock:
            admission = smart_http.admit(self.server.state, request, self._caller)
            repository = admission.repository
            if request.service == "git-upload-pack":
                pulls.attempt_all(self.server.state, repository)
        # `fileno` moves the body to a real file, which git reads as its standard input.
        body.fileno()
        body.seek(0)
        response = smart_http.serve(admission, request, self._caller, headers, body)
        chunks: Iterable[bytes] = response.chunks
        if request.rest == "git-receive-pack":
            # Update before the client sees the end of the push: its next request must see the pull request moved.
            chunks = list(chunks)
            with self.server.state.lock:
                repository.pushed_at = self.server.state.now()
                pulls.after_push(self.server.state, repository)
        if fault and fault.drop:
            raise _Dropped
        self._record(200, response.headers, b"")
        self.send_response(200)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self.wfile.write(b"0\r\n\r\n")


class _InjectedReply(Exception):
    """The response of a fault."""

    def __init__(self, fault: Fault) -> None:
        body = fault.body
        if body is None and fault.status is not None:
            body = {"message": responses.get(fault.status, "Unknown"), "documentation_url": ""}
        if isinstance(body, str):
            body = body.encode()
        kind = "text/html" if isinstance(body, bytes) else "application/json; charset=utf-8"
        self.reply = Reply(fault.status or 500, body, fault.headers, kind)


def _git_error(error: errors.ApiError) -> Reply:
    """Git shows plain text, and asks for credentials only after `WWW-Authenticate`."""
    headers = {"WWW-Authenticate": 'Basic realm="GitHub"'} if error.status == 401 else {}
    return Reply(error.status, f"{error.message}\n".encode(), headers, "text/plain; charset=utf-8")


def _parsed(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError as error:
        raise errors.ApiError(400, "Problems parsing JSON") from error


def _read_body(stream: BufferedIOBase, headers: Mapping[str, str], into: IO[bytes]) -> None:
    """Git sends large packs in chunks."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int(stream.readline().split(b";")[0], 16):
            into.write(stream.read(size))
            stream.readline()
        while stream.readline().strip():
            continue
    else:
        remaining = int(headers.get("content-length") or 0)
        while remaining > 0:
            chunk = stream.read(min(remaining, _SPOOL_BYTES))
            if not chunk:
                raise ConnectionError("the request ended before its body did")
            into.write(chunk)
            remaining -= len(chunk)
    into.seek(0)

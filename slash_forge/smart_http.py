"""Git over HTTP: authorises requests and passes them to `git http-backend`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import IO

from slash_forge import errors
from slash_forge.access import Caller
from slash_forge.git import environment
from slash_forge.state import Repository, Role, State

_PATH = re.compile(
    r"/(?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/(?P<rest>info/refs|git-upload-pack|git-receive-pack)"
)
_CHUNK = 65_536
# Rules that refuse an ordinary push.
_PUSH_RULES = ("creation", "update", "pull_request", "required_signatures")


@dataclass(frozen=True, slots=True)
class GitRequest:
    """A request that git sends. `service` is git-upload-pack (reading) or git-receive-pack (writing)."""

    full_name: str
    rest: str
    service: str


def recognise(path: str, query: Mapping[str, str]) -> GitRequest | None:
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    rest = match["rest"]
    service = query.get("service", "") if rest == "info/refs" else rest
    return GitRequest(f"{match['owner']}/{match['name']}", rest, service)


@dataclass(frozen=True, slots=True)
class Admission:
    """An authorised access. With `branches`, only these may be written."""

    repository: Repository
    branches: frozenset[str] | None = None


def admit(state: State, request: GitRequest, caller: Caller) -> Admission:
    """Authorise a request. Raises a 401 first, because git sends credentials only after one."""
    repository = state.repository(request.full_name)
    visible = repository is not None and caller.role(repository) > Role.NONE
    writing = request.service == "git-receive-pack"
    if caller.token is None and (writing or not visible):
        raise errors.ApiError(401, "Authentication required.")
    if repository is None or not visible:
        raise errors.ApiError(404, "Repository not found.")
    if request.service not in ("git-upload-pack", "git-receive-pack"):
        raise errors.ApiError(403, "Please upgrade your git client.")
    branches = None
    if writing and caller.role(repository) < Role.WRITE:
        branches = caller.writable_fork_branches(state, repository)
        if not branches:
            raise errors.forbidden(f"Permission to {repository.full_name}.git denied to {caller.login}.")
    if not caller.may(repository, "contents", "write" if writing else "read"):
        raise errors.forbidden("Write access to repository not granted.")
    return Admission(repository, branches)


@dataclass(frozen=True, slots=True)
class GitResponse:
    """A CGI response: status, headers, and the chunks of the body as they arrive."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


def serve(
    admission: Admission,
    request: GitRequest,
    caller: Caller,
    *,
    method: str,
    query: str,
    headers: Mapping[str, str],
    body: IO[bytes],
) -> GitResponse:
    """Run `git http-backend`. `body` must be a real file: git reads it as its standard input."""
    path = admission.repository.git.path
    variables = {
        "GIT_PROJECT_ROOT": str(path.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{path.name}/{request.rest}",
        "REQUEST_METHOD": method,
        "QUERY_STRING": query,
        "CONTENT_TYPE": headers.get("content-type", ""),
        "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
        "GIT_PROTOCOL": headers.get("git-protocol", ""),
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_USER": caller.login,
        "FORGE_WORKFLOWS": "yes" if caller.token is None or caller.token.may("workflows", "write") else "",
    }
    if admission.branches is not None:
        variables["FORGE_BRANCHES"] = "".join(f"refs/heads/{name}\n" for name in sorted(admission.branches))
    guarded = {rule.pattern for rule in admission.repository.rules if rule.kind in _PUSH_RULES}
    variables["FORGE_GUARDED"] = "\n".join(
        f"refs/heads/{pattern}" for pattern in sorted(guarded | admission.repository.protections.keys())
    )
    process = subprocess.Popen(
        [_http_backend()],
        stdin=body,
        stdout=subprocess.PIPE,
        # Errors for the client are in the response; the rest is about clients that closed the connection.
        stderr=subprocess.DEVNULL,
        env=environment(variables),
    )
    assert process.stdout is not None
    status, headers_out = _head(process.stdout)
    if not headers_out:
        process.wait()
        raise errors.ApiError(500, "git http-backend does not work here: is this git complete?")
    return GitResponse(status, headers_out, _chunks(process))


@cache
def _http_backend() -> str:
    """The path of the program; `git http-backend` would start one more process for each request."""
    folder = subprocess.run(
        ["git", "--exec-path"], env=environment(), capture_output=True, text=True, check=True
    )
    return os.path.join(folder.stdout.strip(), "git-http-backend")


def _head(stream: IO[bytes]) -> tuple[int, dict[str, str]]:
    headers = {}
    for line in iter(stream.readline, b""):
        if line in (b"\r\n", b"\n"):
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip()] = value.strip()
    status = headers.pop("Status", "200 OK")
    return int(status.split()[0]), headers


def _chunks(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    try:
        while chunk := process.stdout.read1(_CHUNK):  # type: ignore[attr-defined]  # a BufferedReader
            yield chunk
    finally:
        process.stdout.close()
        process.wait()

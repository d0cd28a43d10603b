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
# Rules that an ordinary push cannot satisfy.
_GUARDS = ("creation", "update", "pull_request", "required_signatures")


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
    """What may be touched: with `branches`, these alone may be written."""

    repository: Repository
    branches: frozenset[str] | None = None


def admit(state: State, request: GitRequest, caller: Caller) -> Admission:
    """For somebody who may. A 401 comes first: git sends credentials only after one."""
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
        branches = caller.lent_branches(state, repository)
        if not branches:
            raise errors.forbidden(f"Permission to {repository.full_name}.git denied to {caller.login}.")
    if not caller.may(repository, "contents", "write" if writing else "read"):
        raise errors.forbidden("Write access to repository not granted.")
    return Admission(repository, branches)


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """A CGI answer: its head, parsed, and the pieces of its body as they come."""

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


def serve(
    admitted: Admission,
    request: GitRequest,
    caller: Caller,
    *,
    method: str,
    query: str,
    headers: Mapping[str, str],
    body: IO[bytes],
) -> GitAnswer:
    """Run `git http-backend`. `body` must be a real file: git reads it as its standard input."""
    path = admitted.repository.git.path
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
    if admitted.branches is not None:
        variables["FORGE_BRANCHES"] = "".join(f"refs/heads/{name}\n" for name in sorted(admitted.branches))
    guarded = {rule.pattern for rule in admitted.repository.rules if rule.kind in _GUARDS}
    variables["FORGE_GUARDED"] = "\n".join(
        f"refs/heads/{pattern}" for pattern in sorted(guarded | admitted.repository.protections.keys())
    )
    process = subprocess.Popen(
        [_http_backend()],
        stdin=body,
        stdout=subprocess.PIPE,
        # What concerns the client is in the answer; the rest is about clients that hung up.
        stderr=subprocess.DEVNULL,
        env=environment(variables),
    )
    assert process.stdout is not None
    status, answer = _head(process.stdout)
    if not answer:
        process.wait()
        raise errors.ApiError(500, "git http-backend does not work here: is this git complete?")
    return GitAnswer(status, answer, _pieces(process))


@cache
def _http_backend() -> str:
    """Its own program: started through `git`, each request would cost a process more."""
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


def _pieces(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    try:
        while piece := process.stdout.read1(_CHUNK):  # type: ignore[attr-defined]  # a BufferedReader
            yield piece
    finally:
        process.stdout.close()
        process.wait()

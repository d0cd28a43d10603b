"""Git over HTTP: authorises requests and passes them to `git upload-pack` or `git receive-pack`.

As `git http-backend` does, without its process: a fetch is three requests.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    """Headers, and the chunks of the body as they arrive; the status is 200."""

    headers: Mapping[str, str]
    chunks: Iterator[bytes]


def serve(
    admission: Admission, request: GitRequest, caller: Caller, headers: Mapping[str, str], body: IO[bytes]
) -> GitResponse:
    """Run the git command that answers. `body` must be a real file: git reads it as its standard input."""
    advertised = request.rest == "info/refs"
    protocol = headers.get("git-protocol", "")
    if headers.get("content-encoding") == "gzip":
        body = _unpacked(body)
    variables = {
        "GIT_PROTOCOL": protocol,
        "FORGE_WORKFLOWS": "yes" if caller.token is None or caller.token.may("workflows", "write") else "",
        "FORGE_BRANCHES": "".join(f"refs/heads/{name}\n" for name in sorted(admission.branches or ())),
    }
    guarded = {rule.pattern for rule in admission.repository.rules if rule.kind in _PUSH_RULES}
    variables["FORGE_GUARDED"] = "\n".join(
        f"refs/heads/{pattern}" for pattern in sorted(guarded | admission.repository.protections.keys())
    )
    process = subprocess.Popen(
        [
            *("git", request.service.removeprefix("git-"), "--stateless-rpc"),
            *(["--http-backend-info-refs"] if advertised else []),
            str(admission.repository.git.path),
        ],
        stdin=body,
        stdout=subprocess.PIPE,
        # Errors for the client are in the response; the rest is about clients that closed the connection.
        stderr=subprocess.DEVNULL,
        env=environment(variables),
    )
    # The first line of protocol 0 and 1 (gitprotocol-http); protocol 2 has its own.
    is_old = advertised and "version=2" not in protocol.split(":")
    first = _packet(f"# service={request.service}\n") + b"0000" if is_old else b""
    kind = f"application/x-{request.service}-{'advertisement' if advertised else 'result'}"
    return GitResponse({"Content-Type": kind, "Cache-Control": "no-cache"}, _chunks(first, process))


def _unpacked(body: IO[bytes]) -> IO[bytes]:
    """Return the unpacked `body` as a real file. Git packs requests that have more than a kilobyte."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - git reads it after this function
    with gzip.GzipFile(fileobj=body) as packed:
        shutil.copyfileobj(packed, file)
    file.seek(0)
    return file


def _packet(line: str) -> bytes:
    return f"{len(line) + 4:04x}{line}".encode()


def _chunks(first: bytes, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    try:
        if first:
            yield first
        while chunk := process.stdout.read1(_CHUNK):  # type: ignore[attr-defined]  # a BufferedReader
            yield chunk
    finally:
        process.stdout.close()
        process.wait()

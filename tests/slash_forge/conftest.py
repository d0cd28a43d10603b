"""A forge with a repository and three people in it, and a client that speaks to it.

Whatever a test here says to the forge, and whatever the forge answers, is held against GitHub's own
description afterwards, wherever npm is at hand to fetch that.
"""

import http.client
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from github import Auth, Github
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge import graphql
from tests.support import openapi
from tests.support.programs import run_program
from tests.support.repositories import ENVIRONMENT

REPO = "acme/lib"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def forge() -> Iterator[Forge]:
    with Forge() as forge:
        forge.add_user("acme")
        forge.create_repository("acme", "lib")
        forge.commit(REPO, {"README.md": "# lib\n", "calc.py": "def add(a, b):\n    return a - b\n"})
        for login in ("ada", "tom", "eve"):
            forge.add_user(login)
        forge.grant(REPO, "ada", "write")
        forge.grant(REPO, "tom", "triage")
        yield forge
        if os.environ.get("SLASH_AGENT_TEST_EVERYTHING"):
            assert [str(finding) for finding in openapi.findings(forge.requests)] == []
            assert graphql.findings(forge.requests) == []


@pytest.fixture
def bot_token(forge: Forge) -> str:
    """What Actions gives a job that may publish."""
    permissions = {"contents": "write", "issues": "write", "pull_requests": "write"}
    return forge.token(permissions=permissions, repo=REPO)


@pytest.fixture
def repo(forge: Forge, bot_token: str) -> Iterator[Repository]:
    """The repository as the bot sees it."""
    pace = {"seconds_between_requests": 0, "seconds_between_writes": 0}
    client = Github(auth=Auth.Token(bot_token), base_url=forge.api_url, retry=None, **pace)
    yield client.get_repo(REPO)
    client.close()


@pytest.fixture
def git(tmp_path: Path) -> Run:
    """Run git as an ordinary client would, knowing nothing and asking nobody."""

    def git(*args: str, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        own = {"HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        completed = run_program(["git", *args], cwd=cwd or tmp_path, env=ENVIRONMENT | own)
        assert not check or completed.returncode == 0, completed.stderr
        return completed

    return git


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """Plain HTTP on one connection, for what a library would hide."""

    def __init__(self, forge: Forge, token: str = "") -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._connection = http.client.HTTPConnection(forge.url.removeprefix("http://"), timeout=120)

    def __call__(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, {**self._headers, **(headers or {})})
        response = self._connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def api(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self(method, f"/api/v3{path}", body, named)

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def wire(forge: Forge) -> Iterator[Callable[[str], Wire]]:
    opened = []

    def wire(token: str = "") -> Wire:
        opened.append(Wire(forge, token))
        return opened[-1]

    yield wire
    for one in opened:
        one.close()


def with_token(url: str, token: str) -> str:
    return url.replace("://", f"://x-access-token:{token}@", 1)

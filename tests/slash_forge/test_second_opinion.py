"""The same conversation with the forge and with an independent server, npm's `emulate`: they must agree.

Only on what that server gets right. Left out because it differs from GitHub itself: permissions, private
repositories, pull request files, reactions, locked issues, editing other people's comments, long bodies, and the
status of adding an assignee (201).
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from slash_forge import Forge
from tests.support.npm import installed

pytestmark = pytest.mark.node

_SEED = """
tokens:
  ada-token: {login: ada, scopes: [repo]}
github:
  users: [{login: ada}]
  repos: [{owner: ada, name: lib, auto_init: true}]
"""


@pytest.fixture
def emulate(tmp_path: Path) -> Iterator[str]:
    """Its address. Version 1 and later of that name is another program."""
    package = installed("emulate", "0.11.2")
    (tmp_path / "seed.yaml").write_text(_SEED)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        ["node", package / "dist" / "index.js", "start", "-s", "github", "-p", str(port),
         "--seed", tmp_path / "seed.yaml", "--base-url", address],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    with process:
        try:
            _wait_for(port)
            yield address
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=30).close()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "emulate did not start"
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def ours() -> Iterator[tuple[str, str]]:
    """The address of the API and a token."""
    with Forge() as forge:
        forge.add_user("ada")
        forge.create_repository("ada", "lib")
        forge.commit("ada/lib", {"README.md": "# lib\n"})
        yield forge.api_url, forge.token("ada")


class Talk:
    """Speaks to either server, and keeps what both should agree on."""

    def __init__(self, address: str, token: str) -> None:
        host, _, self._base = address.removeprefix("http://").partition("/")
        self._connection = http.client.HTTPConnection(host, timeout=120)
        self._headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        self.heard: list[tuple[str, int, object]] = []

    def say(self, method: str, path: str, body: object = None) -> Any:
        target = f"{'/' + self._base if self._base else ''}{path}"
        self._connection.request(method, target, None if body is None else json.dumps(body), self._headers)
        response = self._connection.getresponse()
        content = response.read()
        data = json.loads(content) if content else None
        relations = sorted(
            part.partition('rel="')[2].rstrip('"')
            for part in (response.headers["Link"] or "").split(", ")
            if part
        )
        agreed = _agreed(data) if response.status < 300 else None
        self.heard.append((f"{method} {path}", response.status, (agreed, relations)))
        return data

    def close(self) -> None:
        self._connection.close()


_FIELDS = (
    "number", "title", "body", "state", "state_reason", "locked", "login", "name", "description",
    "comments", "closed_at", "type",
)  # fmt: skip


def _agreed(data: Any) -> object:
    """The part that does not depend on whose server it is: no ids, no times, no addresses."""
    if isinstance(data, list):
        return [_agreed(item) for item in data]
    if not isinstance(data, Mapping):
        return data
    fields: dict[str, object] = {key: data[key] for key in _FIELDS if key in data}
    if "closed_at" in fields:
        fields["closed_at"] = fields["closed_at"] is not None
    # An issue's own type is new; the account's is meant.
    if "number" in fields:
        fields.pop("type", None)
    for key in ("user", "assignee", "closed_by"):
        if key in data:
            fields[key] = data[key] and data[key]["login"]
    for key in ("labels", "assignees"):
        if key in data:
            fields[key] = [item.get("name") or item.get("login") for item in data[key]]
    return fields


def conversation(talk: Talk) -> None:
    repo = "/repos/ada/lib"
    talk.say("GET", "/user")
    number = talk.say("POST", f"{repo}/issues", {"title": "It subtracts", "body": "see *calc.py*"})["number"]
    issue = f"{repo}/issues/{number}"
    talk.say("GET", issue)
    talk.say("GET", f"{repo}/issues/99")
    talk.say("PATCH", issue, {"title": "It really subtracts", "body": None})
    talk.say("POST", f"{issue}/labels", {"labels": ["area", "later"]})
    talk.say("DELETE", f"{issue}/labels/later")
    talk.say("PATCH", issue, {"assignees": ["ada"]})
    comment = talk.say("POST", f"{issue}/comments", {"body": "first"})["id"]
    talk.say("POST", f"{issue}/comments", {"body": "second"})
    talk.say("POST", f"{issue}/comments", {"body": "third"})
    path = f"{repo}/issues/comments/{comment}"
    talk.say("GET", f"{issue}/comments?per_page=2")
    talk.say("GET", f"{issue}/comments?per_page=2&page=2")
    before = len(talk.heard)
    talk.say("PATCH", path, {"body": "first, edited"})
    talk.say("GET", path)
    # Ids are the servers' own.
    talk.heard[before:] = [(row[0].replace(str(comment), "ID"), *row[1:]) for row in talk.heard[before:]]
    talk.say("PATCH", issue, {"state": "closed", "state_reason": "not_planned"})
    talk.say("GET", f"{repo}/issues")
    talk.say("GET", f"{repo}/issues?state=closed")
    talk.say("PATCH", issue, {"state": "open"})


def test_both_servers_hold_the_same_conversation(emulate: str, ours: tuple[str, str]) -> None:
    responses = []
    for address, token in (ours, (emulate, "ada-token")):
        talk = Talk(address, token)
        conversation(talk)
        talk.close()
        responses.append(talk.heard)
    differences = [(one, other) for one, other in zip(*responses, strict=True) if one != other]
    assert differences == []

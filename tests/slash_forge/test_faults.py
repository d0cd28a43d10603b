"""Trouble on demand, and the record of what was asked."""

import http.client
import socket
from collections.abc import Callable

import pytest

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Wire

WireTo = Callable[..., Wire]


def test_requests_are_recorded_without_their_credentials(forge: Forge, wire: WireTo, bot_token: str) -> None:
    number = forge.create_issue(REPO, "eve", "x")
    wire(bot_token).api("POST", f"/repos/{REPO}/issues/{number}/comments?a=b", {"body": "héllo"})
    last = forge.requests[-1]
    assert (last.method, last.path, last.query, last.status, last.login) == (
        "POST",
        f"/api/v3/repos/{REPO}/issues/{number}/comments",
        "a=b",
        201,
        "github-actions[bot]",
    )
    assert last.json == {"body": "héllo"}
    assert bot_token not in repr(forge.requests)
    # The query was only there to be recorded; GitHub's description knows no such parameter.
    forge.requests.pop()


def test_a_closed_forge_is_gone_from_disk_and_port() -> None:
    forge = Forge()
    folder = forge._folder
    ask = Wire(forge)
    assert ask.api("GET", "/rate_limit").status == 200
    forge.close()
    forge.close()
    assert not folder.exists()
    port = int(forge.url.rpartition(":")[2])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=2)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask.api("GET", "/rate_limit")

"""Trouble on demand, and the record of what was asked."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Wire

WireTo = Callable[..., Wire]


def test_the_next_matching_requests_fail_and_then_no_more(forge: Forge, wire: WireTo, bot_token: str) -> None:
    forge.fail_next("GET", r"/repos/acme/lib$", 503, headers={"Retry-After": "1"}, times=2)
    ask = wire(bot_token)
    answers = [ask.api("GET", f"/repos/{REPO}") for _ in range(3)]
    assert [answer.status for answer in answers] == [503, 503, 200]
    assert answers[0].headers["retry-after"] == "1"
    assert forge.faults_waiting == 0


@pytest.mark.parametrize(("after_effect", "comments"), [(False, 0), (True, 1)])
def test_a_dropped_connection_loses_the_answer_or_the_request(
    forge: Forge, wire: WireTo, repo: Repository, bot_token: str, after_effect: bool, comments: int
) -> None:
    number = forge.create_issue(REPO, "eve", "x")
    forge.drop_next("POST", "/comments", after_effect=after_effect)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        wire(bot_token).api("POST", f"/repos/{REPO}/issues/{number}/comments", {"body": "x"})
    assert repo.get_issue(number).comments == comments
    assert forge.requests[-2].status == 0


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


def test_many_clients_at_once_get_numbers_of_their_own(forge: Forge, bot_token: str) -> None:
    def create() -> None:
        ask = Wire(forge, bot_token)
        for _ in range(5):
            ask.api("POST", f"/repos/{REPO}/issues", {"title": "x"})
        ask.close()

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(json.loads(exchange.body)["number"] for exchange in forge.requests)
    assert numbers == list(range(1, 31))


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

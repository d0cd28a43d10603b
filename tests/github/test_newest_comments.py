"""A thread read from its end."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from bot.github.client import GitHub, connect
from slash_forge import Forge
from tests.support import openapi

REPO = "acme/lib"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with Forge() as forge:
        forge.create_repository("acme", "lib")
        forge.add_user("eve")
        yield forge
        if os.environ.get("SLASH_AGENT_TEST_EVERYTHING"):
            assert [str(finding) for finding in openapi.findings(forge.requests)] == []


def _thread(forge: Forge, comments: int) -> tuple[GitHub, int]:
    number = forge.create_issue(REPO, "eve", "It breaks")
    for index in range(comments):
        forge.comment(REPO, number, "eve", f"{index}")
    return connect(forge.token(permissions={"issues": "read"}, repo=REPO), forge.api_url, REPO), number


@pytest.mark.parametrize(("comments", "calls"), [(0, 1), (1, 1), (100, 1), (101, 2), (250, 3)])
def test_all_comments_come_newest_first(forge: Forge, comments: int, calls: int):
    github, number = _thread(forge, comments)
    read = [int(comment.body) for comment in github.newest_comments(number)]
    assert read == list(range(comments - 1, -1, -1))
    assert len(forge.requests) == calls


def test_a_page_that_nobody_wants_is_not_asked_for(forge: Forge):
    github, number = _thread(forge, 450)
    assert len(list(islice(github.newest_comments(number), 50))) == 50
    assert len(forge.requests) == 2

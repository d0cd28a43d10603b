"""The client against the forge: what intake reads, over real HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from bot.github.client import GitHub, connect
from bot.github.retry import Pace
from slash_forge.forge import Forge

REPO = "octo/hello"


@pytest.fixture
def forge() -> Iterator[Forge]:
    with Forge() as forge:
        for login in ("octo", "ann", "bob"):
            forge.add_user(login)
        forge.create_repository("octo", "hello")
        yield forge


def client(forge: Forge, **permissions: Any) -> GitHub:
    granted = permissions or {"contents": "read", "issues": "write", "pull_requests": "write"}
    return connect(forge.token(permissions=granted, repo=REPO), forge.api_url, REPO, pace=Pace(0))


def test_comments_since_a_time(forge: Forge):
    number = forge.create_issue(REPO, "ann", "Title")
    for minute in range(5):
        forge.comment(REPO, number, "bob", str(minute), at=f"2026-01-02T03:0{minute}:00Z")
    found = client(forge).comments(number, since="2026-01-02T03:03:00Z")
    assert [comment.body for comment in found] == ["3", "4"]


def test_who_we_are_is_known_for_a_person_and_for_an_app(forge: Forge):
    person = connect(forge.token("ann"), forge.api_url, REPO).me
    assert person is not None
    assert (person.id, person.kind) == (forge.add_user("ann"), "User")
    app = client(forge).me
    assert app is not None
    assert (app.login, app.kind) == ("github-actions[bot]", "Bot")


def test_a_dry_run_reads_and_does_not_write(forge: Forge):
    number = forge.create_issue(REPO, "ann", "Title")
    forge.comment(REPO, number, "bob", "hello")
    said: list[str] = []
    dry = client(forge).dry(said.append)
    made = dry.create_comment(number, "first\n\nsecond")
    dry.edit_comment(made.id, "third")
    assert [comment.body for comment in dry.comments(number)] == ["hello"]
    assert said[0] == f"would comment on {REPO}#{number}:\n    first\n\n    second"
    assert said[1] == f"would edit the new comment in {REPO}:\n    third"
    assert len(said) == 2

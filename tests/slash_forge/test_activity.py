"""The list of pushes, by the server's own clock."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.contracts.threads import PushData
from bot.github.client import connect
from slash_forge import Forge
from tests.support import openapi

REPO = "acme/lib"
ZERO = "0" * 40


@dataclass
class Clock:
    now: datetime = field(default=datetime(2026, 3, 1, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_minutes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def forge(clock: Clock, tmp_path: Path) -> Iterator[Forge]:
    source = tmp_path / "source"
    source.mkdir()
    (source / "README.md").write_text("# lib\n")
    with Forge(clock=clock) as forge:
        forge.create_repository("acme", "lib", source)
        forge.add_user("ada")
        forge.grant(REPO, "ada", "write")
        yield forge
        if shutil.which("npm"):
            assert [str(finding) for finding in openapi.findings(forge.requests)] == []


def _pushes(forge: Forge, branch: str, repo: str = REPO) -> list[PushData] | None:
    token = forge.token(permissions={"contents": "read"}, repo=REPO)
    return connect(token, forge.api_url).pushes(repo, branch)


def test_pushes_are_listed_newest_first_with_the_servers_time(forge: Forge, clock: Clock) -> None:
    first = forge.branch_sha(REPO)
    assert first is not None
    clock.pass_minutes(5)
    one = forge.commit(REPO, {"a": "1"}, branch="fix/#1")
    clock.pass_minutes(5)
    two = forge.commit(REPO, {"a": "2"}, branch="fix/#1")
    assert _pushes(forge, "fix/#1") == [
        PushData(one, two, "2026-03-01T12:10:00Z"),
        PushData(ZERO, one, "2026-03-01T12:05:00Z"),
    ]
    assert _pushes(forge, "main") == [PushData(ZERO, first, "2026-03-01T12:00:00Z")]


def test_a_deleted_branch_was_pushed_away(forge: Forge, clock: Clock) -> None:
    one = forge.commit(REPO, {"a": "1"}, branch="fix")
    clock.pass_minutes(1)
    forge.delete_branch(REPO, "fix")
    pushes = _pushes(forge, "fix")
    assert pushes is not None
    assert pushes[0] == PushData(one, ZERO, "2026-03-01T12:01:00Z")


def test_a_public_forks_pushes_can_be_seen(forge: Forge) -> None:
    forge.fork(REPO, "eve")
    one = forge.commit("eve/lib", {"a": "1"}, branch="fix")
    assert _pushes(forge, "fix", "eve/lib") == [PushData(ZERO, one, "2026-03-01T12:00:00Z")]


def test_what_is_not_there_for_the_token_has_no_pushes_to_tell_of(forge: Forge) -> None:
    forge.create_repository("eve", "secret", private=True)
    assert _pushes(forge, "main", "eve/secret") is None


def test_a_branch_without_pushes_has_none(forge: Forge) -> None:
    assert _pushes(forge, "nothing") == []

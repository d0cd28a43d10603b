"""The client against the forge: what intake reads, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bot.github.client import GitHub, connect
from bot.github.errors import GitHubError
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
    return connect(forge.token(permissions=granted, repo=REPO), forge.api_url, pace=Pace(0))


@pytest.mark.parametrize(
    ("granted", "level", "role", "collaborator"),
    [
        ("admin", "admin", "admin", True),
        ("maintain", "write", "maintain", True),
        ("write", "write", "write", True),
        ("triage", "read", "triage", True),
    ],
)
def test_permissions(forge: Forge, granted: Any, level: str, role: str, collaborator: bool) -> None:
    forge.grant(REPO, "ann", granted)
    found = client(forge).permission(REPO, "ann")
    assert (found.level, found.role, found.collaborator) == (level, role, collaborator)
    assert found.user_id == forge.add_user("ann")


def test_a_stranger_reads_a_public_repository_and_is_no_collaborator(forge: Forge) -> None:
    found = client(forge).permission(REPO, "bob")
    assert (found.level, found.collaborator, found.kind) == ("read", False, "User")


def test_nobody_has_no_permission(forge: Forge) -> None:
    assert client(forge).permission(REPO, "nobody").level == "none"


def test_an_issue_and_its_comments(forge: Forge) -> None:
    number = forge.create_issue(REPO, "ann", "Title", "Body")
    for n in range(130):
        forge.comment(REPO, number, "bob", f"comment {n}", at=f"2026-01-02T03:{n // 60:02}:{n % 60:02}Z")
    github = client(forge)
    issue = github.issue(REPO, number)
    assert (issue.title, issue.body, issue.author.login, issue.is_pull_request) == (
        "Title",
        "Body",
        "ann",
        False,
    )
    comments = list(github.comments(REPO, number))
    assert [c.body for c in comments] == [f"comment {n}" for n in range(130)]
    assert comments[61].created_at == "2026-01-02T03:01:01Z"


def test_comments_since_a_time(forge: Forge) -> None:
    number = forge.create_issue(REPO, "ann", "Title")
    for minute in range(5):
        forge.comment(REPO, number, "bob", str(minute), at=f"2026-01-02T03:0{minute}:00Z")
    found = client(forge).comments(REPO, number, since="2026-01-02T03:03:00Z")
    assert [comment.body for comment in found] == ["3", "4"]


def test_comments_of_a_deleted_account_are_by_a_ghost(forge: Forge) -> None:
    number = forge.create_issue(REPO, "ann", "Title")
    forge.comment(REPO, number, "bob", "hello")
    forge.delete_user("bob")
    (comment,) = client(forge).comments(REPO, number)
    assert (comment.author.login, comment.author.id) == ("ghost", 0)


def test_what_a_token_may_not_see_is_one_sentence(forge: Forge) -> None:
    forge.create_repository("octo", "secret", private=True)
    with pytest.raises(GitHubError, match="the token may not see it"):
        client(forge).repository("octo/secret")


def test_a_revoked_token_is_one_sentence(forge: Forge) -> None:
    token = forge.token(permissions={"issues": "read"}, repo=REPO)
    forge.revoke_token(token)
    with pytest.raises(GitHubError, match="did not accept the token"):
        connect(token, forge.api_url).repository(REPO)


def test_who_we_are_is_known_for_a_person_and_for_an_app(forge: Forge) -> None:
    person = connect(forge.token("ann"), forge.api_url).me()
    assert person is not None
    assert (person.id, person.kind) == (forge.add_user("ann"), "User")
    app = client(forge).me()
    assert app is not None
    assert (app.login, app.kind) == ("github-actions[bot]", "Bot")


def test_a_dry_run_reads_and_does_not_write(forge: Forge) -> None:
    number = forge.create_issue(REPO, "ann", "Title")
    forge.comment(REPO, number, "bob", "hello")
    said: list[str] = []
    dry = client(forge).dry(said.append)
    made = dry.create_comment(REPO, number, "first\n\nsecond")
    dry.edit_comment(REPO, number, made.id, "third")
    assert [comment.body for comment in dry.comments(REPO, number)] == ["hello"]
    assert said[0] == f"would comment on {REPO}#{number}:\n    first\n\n    second"
    assert said[1] == f"would edit the new comment in {REPO}:\n    third"
    assert [write.line for write in dry.dry_run.writes] == [
        line.removeprefix("would ").split(":\n")[0] for line in said
    ]

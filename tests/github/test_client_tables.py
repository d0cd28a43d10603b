"""What the forge need not play: rate limits, server errors, odd answers, many pages."""

from typing import Any

import pytest
import responses

from bot.contracts.errors import ExitCode
from bot.github.errors import GitHubError
from tests.support.tables import API, REPO, Client, comment, next_page, repository

Web = responses.RequestsMock
COMMENTS = f"{REPO}/issues/7/comments"


def test_a_failing_page_is_repeated_alone(web: Web, client: Client):
    web.get(COMMENTS, json=[comment(n) for n in range(100)], headers=next_page(COMMENTS, 2))
    web.get(COMMENTS, status=502, json={"message": "Server Error"})
    web.get(COMMENTS, json=[comment(100)])
    assert [c.id for c in client.github.comments(7)] == list(range(101))
    assert len(web.calls) == 3


def test_a_deleted_account_is_a_ghost(web: Web, client: Client):
    web.get(COMMENTS, json=[comment(1, user=None, body=None)])
    (found,) = client.github.comments(7)
    assert (found.author.login, found.author.id, found.body) == ("ghost", 0, "")


@pytest.mark.parametrize(
    ("headers", "message", "waits"),
    [
        ({"Retry-After": "3"}, "You have exceeded a secondary rate limit", [3.0]),
        ({"Retry-After": "4"}, "abuse", [4.0]),
        ({}, "You have exceeded a secondary rate limit. Please wait a few minutes.", [60.0]),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000009"}, "API rate limit exceeded", [10.0]),
    ],
)
def test_rate_limits_are_waited_out(
    web: Web, client: Client, headers: dict[str, str], message: str, waits: list[float]
):
    web.get(REPO, status=403, json={"message": message}, headers=headers)
    web.get(REPO, json=repository())
    assert client.github.repository.default_branch == "main"
    assert sum(client.slept) == sum(waits)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"message": "Bad credentials"}, "did not accept the token"),
        (403, {"message": "Resource not accessible by integration"}, "does not allow"),
        (403, {"message": "Repository was archived so is read-only."}, "unarchive it"),
        (404, {"message": "Not Found"}, "the token may not see it"),
        (410, {"message": "This issue was deleted"}, "it no longer exists"),
    ],
)
def test_refusals_are_one_sentence(
    web: Web, client: Client, status: int, body: dict[str, Any], expected: str
):
    web.post(COMMENTS, status=status, json=body)
    with pytest.raises(GitHubError) as caught:
        client.github.create_comment(7, "hello")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE


def test_control_characters_do_not_reach_the_terminal(web: Web, client: Client):
    web.get(REPO, status=403, json={"message": "no\x1b[2J\r\n::error::x"})
    with pytest.raises(GitHubError) as caught:
        client.github.current_name()
    assert "\x1b" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [403, 404])
def test_an_installation_token_has_no_user(web: Web, client: Client, status: int):
    web.get(f"{API}/user", status=status, json={"message": "Resource not accessible by integration"})
    assert client.github.me is None
    assert client.github.me is None
    assert len(web.calls) == 1


@pytest.mark.parametrize(
    ("level", "role", "private", "listed", "collaborator"),
    [
        ("admin", "admin", False, None, True),
        ("write", "maintain", False, None, True),
        ("read", "triage", False, None, True),
        ("read", "read", True, None, True),
        ("read", "read", False, 204, True),
        ("read", "read", False, 404, False),
        ("read", "read", False, 403, False),
        ("none", "none", True, None, False),
    ],
)
def test_who_is_a_collaborator(
    web: Web, client: Client, level: str, role: str, private: bool, listed: int | None, collaborator: bool
):
    web.get(REPO, json=repository(private=private))
    answer = {"permission": level, "role_name": role, "user": {"login": "ann", "id": 5, "type": "User"}}
    web.get(f"{REPO}/collaborators/ann/permission", json=answer)
    if listed is not None:
        web.get(f"{REPO}/collaborators/ann", status=listed)
    found = client.github.permission("ann")
    assert (found.level, found.user_id) == (level, 5)
    assert (found.collaborator, found.private) == (collaborator, private)


def test_an_unknown_login_has_no_permission(web: Web, client: Client):
    web.get(REPO, json=repository())
    web.get(f"{REPO}/collaborators/a%2Fb/permission", status=404, json={"message": "a/b is not a user"})
    assert client.github.permission("a/b").level == "none"

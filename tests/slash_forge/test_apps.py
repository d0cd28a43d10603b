"""GitHub Apps: identified by a signed word, given tokens that reach what they were installed on, for an hour."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Wire
from tests.support.apps import keys

WireTo = Callable[..., Wire]


@pytest.fixture
def forge() -> Iterator[Forge]:
    with Forge() as forge:
        forge.create_repository("acme", "lib")
        forge.create_repository("acme", "other", private=True)
        yield forge


@pytest.fixture
def app(forge: Forge) -> int:
    permissions = {"contents": "write", "issues": "write", "checks": "read"}
    return forge.register_app("slash", keys("")[1], permissions, owner="maker")  # type: ignore[arg-type]  # words


@pytest.fixture
def installation(forge: Forge, app: int) -> int:
    return forge.install_app(app, "acme", [REPO])


def word(app: int, key: str = "", **changes: Any) -> str:
    now = int(datetime.now(UTC).timestamp())
    claims = {"iss": str(app), "iat": now - 30, "exp": now + 300, **changes}
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, keys(key)[0], algorithm="RS256")


def test_a_token_reaches_what_it_was_installed_on(forge: Forge, wire: WireTo, app: int, installation: int):
    path = f"/app/installations/{installation}/access_tokens"
    created = wire(word(app)).api("POST", path, {})
    assert (created.status, created.json["repository_selection"]) == (201, "selected")
    assert created.json["permissions"] == {
        "contents": "write", "issues": "write", "checks": "read", "metadata": "read"
    }  # fmt: skip
    ask = wire(created.json["token"])
    assert ask.api("GET", f"/repos/{REPO}").status == 200
    assert ask.api("GET", "/repos/acme/other").status == 404
    assert ask.api("GET", "/user").status == 403
    body = {"title": "x", "head": "a", "base": "main"}
    assert ask.api("POST", f"/repos/{REPO}/pulls", body).json["message"].startswith("Resource not accessible")


def test_a_token_may_be_for_less_and_never_for_more(forge: Forge, wire: WireTo, app: int, installation: int):
    ask = wire(word(app))
    path = f"/app/installations/{installation}/access_tokens"
    less = ask.api("POST", path, {"permissions": {"issues": "read"}, "repositories": ["lib"]}).json
    assert less["permissions"] == {"issues": "read", "metadata": "read"}
    assert wire(less["token"]).api("POST", f"/repos/{REPO}/issues", {"title": "x"}).status == 403
    for more in (
        {"permissions": {"checks": "write"}},
        {"permissions": {"actions": "read"}},
        {"repositories": ["other"]},
    ):
        assert ask.api("POST", path, more).status == 422


NOW = int(datetime.now(UTC).timestamp())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": NOW - 1}, "future time"),
        ({"exp": NOW + 7200}, "too far in the future"),
        ({"exp": None}, "future time"),
        ({"iat": NOW + 7200, "exp": NOW + 7500}, "Issued at"),
        ({"iat": None}, "Issued at"),
        ({"key": "another"}, "could not be decoded"),
        ({"iss": "nobody"}, "could not be decoded"),
    ],
    ids=["over", "too long", "no end", "not yet", "no beginning", "another key", "nobody"],
)
def test_a_wrong_word_is_a_401(forge: Forge, wire: WireTo, app: int, changes: dict[str, Any], words: str):
    answer = wire(word(app, **changes)).api("GET", "/app")
    assert (answer.status, words in answer.json["message"]) == (401, True), answer.json


def test_what_is_not_the_apps_is_not_there(forge: Forge, wire: WireTo, app: int, installation: int):
    ask = wire(word(app))
    path = f"/repos/{REPO}/installation"
    found = ask.api("GET", path).json
    assert (found["id"], found["app_slug"]) == (installation, "slash")
    assert ask.api("POST", "/app/installations/1/access_tokens", {}).status == 404
    assert ask.api("GET", "/repos/acme/other/installation").status == 404
    assert wire(word(99)).api("GET", path).status == 404
    assert wire(forge.token("acme")).api("GET", path).status == 401

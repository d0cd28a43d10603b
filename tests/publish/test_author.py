"""The author of a published commit, and what checks for sign-offs (DCO) and licence agreements (CLA) read in it."""

import re

import pytest

from bot.checkout.branches import Signature
from bot.contracts.errors import PublishError
from bot.github.errors import GitHubError
from bot.github.values import Account
from bot.policy.publish_settings import Identity
from bot.publish.commit_author import UNKNOWN, author_of
from tests.publish.conftest import REPO, WRITES, World

ACTIONS = Account("github-actions[bot]", 41898282, "Bot")
SIGNED_OFF = "pull_request: {sign_off: true, ci: start}\n"


@pytest.mark.parametrize(
    ("account", "url", "name", "email"),
    [
        (
            ACTIONS,
            "https://github.com/o/r.git",
            ACTIONS.login,
            "41898282+github-actions[bot]@users.noreply.github.com",
        ),
        (
            Account("our-app[bot]", 7, "Bot"),
            "https://acme.ghe.com/o/r.git",
            "our-app[bot]",
            "7+our-app[bot]@users.noreply.acme.ghe.com",
        ),
        (
            Account("ann", 12, "User"),
            "https://git.example.org:8443/o/r",
            "ann",
            "12+ann@users.noreply.git.example.org",
        ),
        (None, "https://github.com/o/r.git", *UNKNOWN),
    ],
)
def test_the_author_is_the_account_by_its_address_on_the_server(
    account: Account | None, url: str, name: str, email: str
):
    assert author_of(account, Identity(), url) == Signature(name, email)


def test_the_policys_identity_replaces_the_accounts_one_by_one():
    url = "https://github.com/o/r.git"
    email = author_of(ACTIONS, Identity(), url).email
    assert author_of(ACTIONS, Identity("our-bot", ""), url) == ("our-bot", email)
    assert author_of(ACTIONS, Identity("our-bot", "b@our.example"), url) == ("our-bot", "b@our.example")


def _token(world: World, kind: str) -> tuple[str, str]:
    """The login and a token of this kind."""
    match kind:
        case "GITHUB_TOKEN":
            return "github-actions[bot]", world.token
        case "app":
            return "our-app[bot]", world.app_token()
        case _:
            return "ann", world.forge.token("ann", permissions=WRITES, repo=REPO)


@pytest.mark.parametrize("kind", ["GITHUB_TOKEN", "app", "fine-grained"])
def test_a_commit_passes_checks_of_sign_offs_and_licence_agreements(world: World, kind: str):
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": SIGNED_OFF})
    login, token = _token(world, kind)
    published = world.publish(world.bundle(), token=token)
    (commit,) = world.api(f"/pulls/{published.pr_number}/commits")
    # CLA bots look up the accounts of author and committer, and then who has signed.
    assert [commit[role]["login"] for role in ("author", "committer")] == [login, login]
    # Probot's DCO lets bots pass, and wants of others a sign-off by the author's or the committer's name and address.
    author = commit["commit"]["author"]
    # Whose token it is, is not named twice.
    assert ("Co-authored-by: ann" in commit["commit"]["message"]) == (login != "ann")
    signed = re.findall(r"^Signed-off-by: (.+) <(.+)>$", commit["commit"]["message"], re.MULTILINE)
    assert signed == [(author["name"], author["email"])]
    assert re.fullmatch(rf"\d+\+{re.escape(login)}@users\.noreply\.127\.0\.0\.1", author["email"])


def test_a_token_that_may_not_read_its_account_publishes_with_a_note(world: World):
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {ci: start}\n"})
    world.forge.fail_next("GET", "/user$", 403, body={"message": "Resource not accessible"})
    published = world.publish(world.bundle(), token=world.forge.token("ann"))
    assert UNKNOWN.email in world.commit(published.commit)
    assert "in the policy to an account's name" in world.pulls()[0]["body"]


def test_a_suspended_account_is_named_as_the_reason(world: World):
    body = {"message": "Sorry. Your account was suspended."}
    world.forge.fail_next("*", "/user$|/graphql$", 403, body=body, times=9)
    with pytest.raises((PublishError, GitHubError), match="is suspended, which stopped"):
        world.publish(world.bundle(), token=world.forge.token("ann"))
    assert world.pulls() == []

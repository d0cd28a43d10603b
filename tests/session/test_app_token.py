"""An app's id and key in the environment come before the token that is there too."""

from __future__ import annotations

import pytest

from bot.contracts.errors import UsageError
from bot.github.client import connect
from bot.github.tokens import Access
from bot.session.context.github_env import GitHubEnvironment, read_github_environment, signed_in
from slash_forge.forge import ACTIONS_BOT, Forge
from tests.support.apps import make_app


def where(forge: Forge, **more: str) -> GitHubEnvironment:
    urls = {"GITHUB_SERVER_URL": forge.url, "GITHUB_API_URL": forge.api_url}
    return read_github_environment({**urls, "GITHUB_REPOSITORY": "octo/hello", **more})


def test_the_apps_token_is_taken_and_is_for_one_repository() -> None:
    with Forge() as forge:
        forge.add_user("octo")
        for name in ("hello", "other"):
            forge.create_repository("octo", name, private=True)
        app = make_app(forge, "octo", {"contents": "read"})
        here = where(
            forge,
            GITHUB_TOKEN="ghs_of_actions",
            SLASH_AGENT_APP_ID=f"{app.id}\n",
            SLASH_AGENT_APP_PRIVATE_KEY=app.key,
        )
        assert app.key.split("\n")[1] not in repr(here)
        for name in ("octo/hello", "octo/other"):
            signed = signed_in(here, name, Access.READ)
            assert signed.minted_secrets == {"GITHUB_APP_TOKEN": signed.token}
            assert signed.token not in repr(signed)
            github = connect(signed.token, forge.api_url)
            assert github.repository(name).name == name
            me = github.me()
            assert me is not None
            assert me.login == "my-app[bot]"


@pytest.mark.parametrize(
    ("given", "missing"),
    [("SLASH_AGENT_APP_ID", "private key is empty"), ("SLASH_AGENT_APP_PRIVATE_KEY", "id is empty")],
)
def test_half_an_app_is_a_sentence(given: str, missing: str) -> None:
    here = read_github_environment({given: "1", "GITHUB_TOKEN": "ghs_of_actions"})
    with pytest.raises(UsageError, match=missing):
        signed_in(here, "octo/hello", Access.READ)


def test_actions_own_token_is_for_its_repository_and_a_persons_for_what_they_reach() -> None:
    with Forge() as forge:
        forge.add_user("ann")
        for name in ("hello", "other"):
            forge.create_repository("octo", name)
        own = forge.token(ACTIONS_BOT, {"contents": "write"}, repo="octo/hello")
        here = where(forge, GITHUB_TOKEN=own)
        assert signed_in(here, "octo/Hello", Access.PUBLISH).token == own
        with pytest.raises(UsageError, match=r"octo/other is out of reach.*is for octo/hello alone"):
            signed_in(here, "octo/other", Access.READ)
        hers = forge.token("ann", {"contents": "read"})
        assert signed_in(where(forge, GITHUB_TOKEN=hers), "octo/other", Access.READ).token == hers


def test_what_an_entry_of_a_plan_names_must_be_a_repository() -> None:
    assert read_github_environment({"SLASH_AGENT_REPOSITORY": "octo/other"}).acts_for == "octo/other"
    with pytest.raises(UsageError, match="is not a repository as in owner/name"):
        read_github_environment({"SLASH_AGENT_REPOSITORY": "octo/other/../x"})

"""An app's id and key in the environment come before the token that is there too."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.contracts.errors import UsageError
from bot.forge.forge import Forge
from bot.github.client import connect
from bot.run.github_env import read_github_environment, require_token


def test_the_apps_token_is_taken_for_the_repository_of_the_run_or_the_one_that_is_named() -> None:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with Forge() as forge:
        forge.add_user("octo")
        for name in ("hello", "other"):
            forge.create_repository("octo", name, private=True)
        app = forge.register_app("my-app", public.decode(), {"contents": "read"}, owner="octo")
        forge.install_app(app, "octo")
        where = read_github_environment(
            {
                "GITHUB_SERVER_URL": forge.url,
                "GITHUB_API_URL": forge.api_url,
                "GITHUB_REPOSITORY": "octo/hello",
                "GITHUB_TOKEN": "ghs_of_actions",
                "SLASH_AGENT_APP_ID": f"{app}\n",
                "SLASH_AGENT_APP_PRIVATE_KEY": private,
            }
        )
        assert private.split("\n")[1] not in repr(where)
        for name, chosen in (("octo/hello", ""), ("octo/other", "octo/other")):
            github = connect(require_token(where, chosen), forge.api_url)
            assert github.repository(name).name == name
            me = github.me()
            assert me is not None
            assert me.login == "my-app[bot]"


@pytest.mark.parametrize(
    ("given", "missing"),
    [("SLASH_AGENT_APP_ID", "private key is empty"), ("SLASH_AGENT_APP_PRIVATE_KEY", "id is empty")],
)
def test_half_an_app_is_a_sentence(given: str, missing: str) -> None:
    where = read_github_environment({given: "1", "GITHUB_TOKEN": "ghs_of_actions"})
    with pytest.raises(UsageError, match=missing):
        require_token(where)

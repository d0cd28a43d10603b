"""A GitHub App's token: two requests signed with its key, and a sentence for each way they fail."""

import json
import logging
import traceback
from typing import Any

import jwt
import pytest
import responses
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from bot.contracts.errors import AgentError, UsageError
from bot.github.app import App
from bot.github.errors import GitHubError
from bot.github.retry import Pace
from bot.github.tokens import Access
from tests.support.tables import API, NAME, REPO

INSTALLATION = f"{REPO}/installation"
TOKENS = f"{API}/app/installations/77/access_tokens"
Web = responses.RequestsMock
Pem = tuple[str, rsa.RSAPublicKey]


# A short key, since checking a longer one takes a tenth of a second each time it is read. PyJWT warns of it.
KEY_BITS = 1024
pytestmark = pytest.mark.filterwarnings("ignore:The RSA key is 1024 bits long")


@pytest.fixture(scope="module")
def key() -> Pem:
    made = rsa.generate_private_key(public_exponent=65_537, key_size=KEY_BITS)
    return _pem(made, serialization.PrivateFormat.TraditionalOpenSSL), made.public_key()


def _pem(key: Any, form: serialization.PrivateFormat, password: bytes = b"") -> str:
    shut = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return str(key.private_bytes(serialization.Encoding.PEM, form, shut).decode())


def ask(private_key: str, access: Access = Access.READ) -> str:
    app = App("123", private_key, NAME, API)
    app.requester.pace = Pace(0, sleep=lambda _: None)
    return app.token(access)


def play(web: Web, **granted: str) -> None:
    granted = granted or {"metadata": "read", "contents": "write"}
    web.get(INSTALLATION, json={"id": 77, "app_slug": "my-app", "permissions": granted})
    web.post(TOKENS, status=201, json={"token": "ghs_secret", "expires_at": "2026-01-02T04:04:05Z"})


@pytest.mark.parametrize(
    ("access", "written"),
    [
        (Access.READ, set()),
        (Access.COMMENT, {"issues", "pull_requests"}),
        (Access.STOP, {"issues", "pull_requests", "actions"}),
        (Access.FOLLOW, {"issues", "pull_requests", "actions", "contents"}),
        (Access.PUBLISH, {"issues", "pull_requests", "contents", "checks"}),
    ],
)
def test_a_token_can_do_no_more_than_it_is_for(web: Web, key: Pem, access: Access, written: set[str]):
    """Whatever else the app was granted."""
    known = ("actions", "checks", "contents", "issues", "pull_requests")
    play(web, **dict.fromkeys((*known, "administration", "workflows", "secrets"), "write"))
    ask(key[0], access=access)
    sent = json.loads(web.calls[1].request.body or b"")
    needed = {name: "write" if name in written else "read" for name in known}
    assert sent == {"repositories": ["hello"], "permissions": {"metadata": "read", **needed}}


def test_no_more_is_asked_for_than_was_granted(web: Web, key: Pem):
    play(web, contents="read", issues="write")
    ask(key[0], access=Access.PUBLISH)
    sent = json.loads(web.calls[1].request.body or b"")
    assert sent["permissions"] == {"metadata": "read", "contents": "read", "issues": "write"}


def test_a_token_for_one_repository(web: Web, key: Pem):
    play(web)
    made = ask(key[0])
    assert made == "ghs_secret"
    assert json.loads(web.calls[1].request.body or b"")["repositories"] == ["hello"]
    for call in web.calls:
        scheme, _, token = call.request.headers["Authorization"].partition(" ")
        claims = jwt.decode(token, key[1], algorithms=["RS256"], options={"verify_iat": False})
        assert (scheme, claims["iss"]) == ("Bearer", "123")
        assert 0 < claims["exp"] - claims["iat"] <= 600


def test_a_key_on_one_line_is_taken(web: Web, key: Pem):
    play(web)
    assert ask("  " + key[0].replace("\n", "\\n")) == "ghs_secret"


def test_the_token_is_in_no_log(web: Web, key: Pem, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    play(web)
    ask(key[0])
    assert "ghs_secret" not in caplog.text


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda _: "", "is empty"),
        (lambda _: "hello", "no private key in PEM format"),
        (lambda key: key[:200], "no private key in PEM format"),
        (lambda key: key.replace(key.split("\n")[3], "AAAA"), "no private key in PEM format"),
        (lambda _: _pem(ec.generate_private_key(ec.SECP256R1()), serialization.PrivateFormat.PKCS8),
         "no RSA key"),
        (lambda key: _pem(serialization.load_pem_private_key(key.encode(), None),
                          serialization.PrivateFormat.PKCS8, b"password"),
         "without a password"),
    ],
)  # fmt: skip
def test_a_key_that_is_none_is_a_sentence(web: Web, key: Pem, spoil: Any, said: str):
    with pytest.raises(UsageError, match=said) as caught:
        ask(spoil(key[0]))
    assert key[0].split("\n")[2] not in "".join(traceback.format_exception(caught.value))
    assert len(web.calls) == 0


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (404, "Not Found", "The app 123 is not installed on octo/hello"),
        (404, "Integration not found", "knows no app with the id 123"),
        (401, "A JSON web token could not be decoded", "the private key is not one of this app's"),
        (401, "'Expiration time' claim ('exp') is too far in the future", "this machine's clock is not"),
        (403, "Resource not accessible", "to read installation of"),
    ],
)
def test_refusals_are_one_sentence(web: Web, key: Pem, status: int, message: str, said: str):
    web.get(INSTALLATION, status=status, json={"message": message})
    with pytest.raises(GitHubError, match=said):
        ask(key[0])


def test_an_installation_that_lacks_a_permission_says_so(web: Web, key: Pem):
    web.get(INSTALLATION, json={"id": 77})
    said = "The permissions requested are not granted to this installation."
    web.post(TOKENS, status=422, json={"message": said})
    with pytest.raises(AgentError, match="are not granted to this installation"):
        ask(key[0])

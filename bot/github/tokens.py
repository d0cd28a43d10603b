"""Tokens for GitHub: their kinds, whether GitHub starts workflows for pushes and pull requests by them, and a GitHub
App's installation token for one repository, valid for an hour.

https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github has
the prefixes. Actions' own token and an installation token have the same one (`ghs_`): only the account's login tells
them apart. Without it the kind is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any

from bot.contracts.errors import UsageError
from bot.github.errors import GitHubError, RepositoryMovedError
from bot.github.retry import Pace
from bot.github.transport import ApiTransport

if TYPE_CHECKING:
    from github.Auth import AppAuth

ACTIONS_LOGIN = "github-actions[bot]"


class TokenKind(StrEnum):
    ACTIONS = "the workflow's own token (GITHUB_TOKEN)"
    APP = "an installation token of a GitHub App"
    FINE_GRAINED = "a fine-grained personal access token"
    CLASSIC = "a classic personal access token"
    OAUTH = "a user's token of an OAuth app"
    USER_TO_SERVER = "a user's token of a GitHub App"
    UNKNOWN = "a token of unknown kind"


_PREFIXES = {
    "github_pat_": TokenKind.FINE_GRAINED,
    "ghp_": TokenKind.CLASSIC,
    "gho_": TokenKind.OAUTH,
    "ghu_": TokenKind.USER_TO_SERVER,
}
INSTALLATION = "ghs_"
"""Prefix of an app's token and of Actions' own."""


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """Facts about a token. `starts_workflows` is `None` if unknown; `sentence` is for people.

    With a token that starts none, `GitHub.dispatch_workflow` still does: workflow_dispatch and
    repository_dispatch are the two events that GitHub lets GITHUB_TOKEN make.
    """

    kind: TokenKind
    starts_workflows: bool | None
    sentence: str


def token_facts(token: str, *, login: str = "") -> TokenFacts:
    """Return the facts about `token`. `login` is its account (`GitHub.me`), if known."""
    kind = token_kind(token, login=login)
    if kind is TokenKind.ACTIONS:
        sentence = (
            f"GitHub starts no workflows for what {kind} pushes, and holds those for the pull requests that it opens "
            "until somebody with write access approves them. With the token of a GitHub App they start at once."
        )
        return TokenFacts(kind, False, sentence)
    if kind is TokenKind.UNKNOWN:
        sentence = (
            f"Whether GitHub starts workflows for what is pushed with {kind} is not known: look if they ran."
        )
        return TokenFacts(kind, None, sentence)
    return TokenFacts(kind, True, f"GitHub starts workflows for what is pushed with {kind}.")


def token_kind(token: str, *, login: str = "") -> TokenKind:
    """See `token_facts`."""
    for prefix, kind in _PREFIXES.items():
        if token.startswith(prefix):
            return kind
    if not token.startswith(INSTALLATION) or not login.endswith("[bot]"):
        return TokenKind.UNKNOWN
    return TokenKind.ACTIONS if login == ACTIONS_LOGIN else TokenKind.APP


# Seconds. GitHub's tolerance and PyGithub's margin allow for so much difference between the clocks.
_CLOCK_TOLERANCE = 60


class Access(Enum):
    """The permissions that a token may write. It may read all others of `_READABLE`."""

    READ = ()
    COMMENT = ("issues", "pull_requests")
    STOP = ("issues", "pull_requests", "actions")
    PUBLISH = ("issues", "pull_requests", "contents", "checks")


# All permissions that the program uses. An app may have more; a token of ours has not.
_READABLE = ("actions", "checks", "contents", "issues", "metadata", "pull_requests", "statuses")


@dataclass(frozen=True, slots=True)
class InstallationToken:
    """`expires_at` is RFC 3339; `login` is the bot that the app acts as, such as `slash-agent[bot]`."""

    token: str = field(repr=False)
    expires_at: str
    login: str


def installation_token(
    app_id: str,
    private_key: str,
    repository: str,
    api_url: str,
    *,
    access: Access,
    pace: Pace | None = None,
) -> InstallationToken:
    """A token for `repository` alone, with no more permissions than `access` needs, of those that the app has there.

    `private_key` is PEM, with line ends or with `\\n` written out. Two requests. Raises `UsageError` for a key or id
    that cannot be right, `GitHubError` for what GitHub refuses.
    """
    from bot.github.client import hub_at

    hub = hub_at(api_url, _signer(app_id, private_key))
    return _App(hub, pace or Pace(), app_id.strip()).token(repository, access)


def installation(app_id: str, private_key: str, repository: str, api_url: str) -> Installation:
    """How the app is installed on `repository`, and what it was granted there. One request; raises as
    `installation_token` does."""
    from bot.github.client import hub_at

    return _App(hub_at(api_url, _signer(app_id, private_key)), Pace(), app_id.strip()).on(repository)


@dataclass(frozen=True, slots=True)
class Installation:
    """`permissions` by GitHub's names, such as `pull_requests`, are `read`, `write` or `admin`."""

    id: int
    slug: str
    permissions: Mapping[str, str]


class _App(ApiTransport):
    """The API authenticated as the app, by a JWT."""

    def __init__(self, hub: Any, pace: Pace, app_id: str) -> None:
        super().__init__(hub, pace)
        self._app_id = app_id

    def token(self, repository: str, access: Access) -> InstallationToken:
        installation = self.on(repository)
        permissions = _required_permissions(installation.permissions, access)
        body: dict[str, object] = {
            "repositories": [repository.partition("/")[2]],
            "permissions": permissions,
        }
        action = f"asking for a token of the app {installation.slug or self._app_id} for {repository}"
        path = f"/app/installations/{installation.id}/access_tokens"
        login = f"{installation.slug}[bot]" if installation.slug else ""
        try:
            return self._write(
                action,
                "POST",
                path,
                body,
                lambda data: InstallationToken(str(data["token"]), str(data["expires_at"]), login),
                # A second token does no harm.
                safe=True,
            )
        except GitHubError as error:
            # The installation was found, by a redirect, and the name that it was asked for is not in it.
            if error.status == 422 and error.says("repository that does not exist"):
                raise RepositoryMovedError(action) from error
            raise

    def on(self, repository: str) -> Installation:
        action = f"looking for the app {self._app_id} on {repository}"
        try:
            return self._get(action, f"/repos/{repository}/installation", _installation)
        except GitHubError as error:
            raise GitHubError(self._why(error, repository), error.failure) from error

    def _why(self, error: GitHubError, repository: str) -> str:
        failure = error.failure
        if error.status == 404 and error.says("integration"):
            return (
                f"GitHub knows no app with the id {self._app_id}: look for the id on the app's settings page."
            )
        if error.status == 404:
            return (
                f"The app {self._app_id} is not installed on {repository}: install it there, and let it see this "
                "repository if it is installed for selected ones only."
            )
        if error.status != 401:
            return str(error)
        ahead = self._pace.now() - failure.sent_at if failure.sent_at is not None else 0.0
        if abs(ahead) > _CLOCK_TOLERANCE or error.says("'iat'") or error.says("'exp'"):
            return f"GitHub did not take the app's signature: this machine's clock is {_off(ahead)}. Set it right."
        return (
            f"GitHub did not take the signature of the app {self._app_id} (401: {failure.message}): the private key "
            "is not one of this app's, or was deleted there. Make a new one on the app's settings page."
        )


def _installation(data: Any) -> Installation:
    granted = {str(name): str(access) for name, access in (data.get("permissions") or {}).items()}
    return Installation(int(data["id"]), str(data.get("app_slug") or ""), granted)


def _required_permissions(granted: Mapping[str, str], access: Access) -> dict[str, str]:
    """A request for more than was granted is refused; a request without permissions gets all of them."""
    return {"metadata": "read"} | {
        name: "write" if name in access.value and granted[name] != "read" else "read"
        for name in _READABLE
        if name in granted
    }


def _off(ahead: float) -> str:
    """`ahead` in seconds; GitHub may complain of a clock whose answer's date says nothing."""
    if abs(ahead) <= _CLOCK_TOLERANCE:
        return "not GitHub's"
    return f"{abs(ahead):.0f} seconds {'ahead of' if ahead > 0 else 'behind'} GitHub's"


def _signer(app_id: str, private_key: str) -> AppAuth:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from github import Auth

    if not app_id.strip():
        raise UsageError("The GitHub App's id is empty: give app-id beside app-private-key.")
    key = private_key.strip().replace("\\n", "\n")
    if not key:
        raise UsageError(
            "The GitHub App's private key is empty: is the secret set, and may this workflow read it?"
        )
    try:
        loaded = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause is left out: such an error may quote the key.
        raise UsageError(
            "The GitHub App's private key is no private key in PEM format without a password: give the whole content "
            "of the .pem file, from -----BEGIN to END-----."
        ) from None
    if not isinstance(loaded, RSAPrivateKey):
        raise UsageError(
            "The GitHub App's private key is no RSA key: give the one from the app's settings page."
        )
    return Auth.AppAuth(app_id.strip(), key)

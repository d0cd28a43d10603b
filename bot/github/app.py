"""A GitHub App's installation token for one repository, valid for an hour."""

from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from github.Auth import AppAuth

from bot.contracts.errors import UsageError
from bot.github.errors import GitHubError, RepositoryMovedError
from bot.github.retry import Pace
from bot.github.tokens import Access
from bot.github.transport import ApiPart, ApiRequester

# All permissions that the program uses. An app may have more; a token of ours has not.
_READABLE = ("actions", "checks", "contents", "issues", "metadata", "pull_requests", "statuses")


class App(ApiPart):
    """The API as the app, by a JWT. A token of PyGithub's `GithubIntegration` would be for all its repositories.

    `private_key` is PEM, with line ends or with `\\n` written out. Raises `UsageError` for a key or id that cannot be
    right, its methods `GitHubError` for what GitHub refuses.
    """

    def __init__(self, app_id: str, private_key: str, repository: str, api_url: str) -> None:
        super().__init__(ApiRequester(api_url, _signer(app_id, private_key), Pace()), repository)
        self._app_id = app_id.strip()

    def token(self, access: Access) -> str:
        """A token for the repository alone, with no more permissions than `access` needs, of those that the app has
        there. Two requests."""
        identity, granted = self.installation()
        # A request for more than was granted is refused; a request without permissions gets all of them.
        reads = [name for name in _READABLE if name in granted]
        writes = [name for name in access.value if granted.get(name, "read") != "read"]
        permissions = {"metadata": "read", **dict.fromkeys(reads, "read"), **dict.fromkeys(writes, "write")}
        body = {"repositories": [self.name.partition("/")[2]], "permissions": permissions}
        try:
            data = self._post(f"/app/installations/{identity}/access_tokens", body)
        except GitHubError as error:
            # The installation was found, by a redirect, and the name that it was asked for is not in it.
            if error.status == 422 and error.says("repository that does not exist"):
                raise RepositoryMovedError(f"asking for a token of the app for {self.name}") from error
            raise
        return self._parsed(lambda: str(data["token"]))

    def installation(self) -> tuple[int, dict[str, str]]:
        """The id, and what the app may do on the repository: by GitHub's names `read`, `write` or `admin`."""
        try:
            return self._get(f"{self.root}/installation", _installation)
        except GitHubError as error:
            raise GitHubError(self._why(error), error.failure) from error

    def _why(self, error: GitHubError) -> str:
        if error.status == 404 and error.says("integration"):
            return f"GitHub knows no app with the id {self._app_id}: look it up on the app's settings page."
        if error.status == 404:
            return (
                f"The app {self._app_id} is not installed on {self.name}: install it there, and let it see this "
                "repository if it is installed for selected ones only."
            )
        if error.status != 401:
            return str(error)
        refused = (
            f"GitHub did not take the signature of the app {self._app_id} (401: {error.failure.message})"
        )
        if error.says("'iat'") or error.says("'exp'"):
            return f"{refused}: this machine's clock is not GitHub's. Set it right."
        return (
            f"{refused}: the private key is not one of this app's, or was deleted there. Make a new one on the app's "
            "settings page."
        )


def _installation(data: Any) -> tuple[int, dict[str, str]]:
    granted = {str(name): str(access) for name, access in (data.get("permissions") or {}).items()}
    return int(data["id"]), granted


def _signer(app_id: str, private_key: str) -> AppAuth:
    if not app_id.strip():
        raise UsageError("The GitHub App's id is empty: give app-id beside app-private-key.")
    key = private_key.strip().replace("\\n", "\n")
    if not key:
        raise UsageError("The app's private key is empty: is the secret set, and may this workflow read it?")
    try:
        loaded = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The cause is left out: such an error may quote the key.
        raise UsageError(
            "The GitHub App's private key is no private key in PEM format without a password: give the whole content "
            "of the .pem file, from -----BEGIN to END-----."
        ) from None
    if not isinstance(loaded, RSAPrivateKey):
        raise UsageError("The app's private key is no RSA key: give the one from the app's settings page.")
    return AppAuth(app_id.strip(), key)

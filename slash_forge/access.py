"""The caller of a request: token or app, permissions, visible repositories and the primary rate limit."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slash_forge import errors
from slash_forge.state import Access, Repository, Role, State, Token, User

TOKEN_SECONDS = 3600
# GitHub accepts no JWT of an app with a longer lifetime.
_JWT_SECONDS = 600


@dataclass(slots=True, eq=False)
class Installation:
    """`repositories` None: all repositories of the account."""

    id: int
    app: App
    account: User
    repositories: frozenset[str] | None
    created_at: str


@dataclass(slots=True, eq=False)
class App:
    """`public_key` is PEM. `bot` is the account it acts as."""

    id: int
    slug: str
    public_key: str
    permissions: Mapping[str, Access]
    owner: User
    bot: User
    created_at: str


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of one request. Without `token` it is anonymous, or an app that authenticates as itself."""

    token: Token | None
    app: App | None = None

    @property
    def user(self) -> User | None:
        return self.token.user if self.token else None

    @property
    def login(self) -> str:
        return self.token.user.login if self.token else ""

    @property
    def is_app(self) -> bool:
        """An installation token, such as the one Actions gives a job."""
        return self.token is not None and self.token.user.kind == "Bot"

    def role(self, repository: Repository) -> Role:
        """The caller's role in a repository, limited by the token's list of repositories."""
        public = Role.NONE if repository.private else Role.READ
        if self.token is None:
            return public
        listed = self.token.repositories
        if listed is not None and repository.full_name not in listed:
            return public
        if self.is_app and listed is not None:
            # An installation has no role: only its permissions limit it.
            return Role.WRITE
        return repository.role_of(self.token.user)

    def may(self, repository: Repository, resources: str, access: Access) -> bool:
        """Whether the token's permissions include one of `resources` (names separated by `|`)."""
        if access == "read" and not repository.private:
            return True
        if self.token is None:
            return access == "read"
        return any(self.token.may(resource, access) for resource in resources.split("|"))

    def refusal(self) -> errors.ApiError:
        """GitHub's error for a token without the permission."""
        if self.token is None:
            return errors.requires_authentication()
        kind = "integration" if self.is_app else "personal access token"
        return errors.forbidden(f"Resource not accessible by {kind}")

    def writable_fork_branches(self, state: State, repository: Repository) -> frozenset[str]:
        """Branches of a fork that its owner lets the parent's maintainers push to.

        Only for people: an installation has no access to a repository that it is not installed in.
        """
        if self.token is None or self.is_app or repository.parent is None:
            return frozenset()
        if self.role(repository.parent) < Role.WRITE:
            return frozenset()
        return frozenset(
            pull.head_ref
            for issue, pull in repository.parent.pulls()
            if issue.state == "open" and pull.head_repository is repository and pull.maintainer_can_modify
        )


def caller(state: State, authorization: str | None) -> Caller:
    """Parse an `Authorization` header. Raises a 401 for an unknown or expired token."""
    if not authorization:
        return Caller(None)
    for candidate in credentials(authorization):
        token = state.tokens.get(candidate)
        if token is not None and token.is_valid(state.epoch()):
            return Caller(token)
        if candidate.count(".") == 2:
            return Caller(None, identify(state, candidate))
    raise errors.bad_credentials()


def credentials(authorization: str) -> list[str]:
    """Candidates for the token: the value after `token` or `Bearer`, or either half of a basic pair."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.casefold() in ("token", "bearer"):
        return [value.strip()]
    if scheme.casefold() != "basic":
        return []
    try:
        name, _, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return []
    return [password, name]


def visible(state: State, caller: Caller, full_name: str) -> Repository:
    """The repository. Raises a 404 if it does not exist or the caller may not see it."""
    repository = state.repository(full_name)
    if repository is None or caller.role(repository) is Role.NONE:
        raise errors.not_found()
    return repository


_HOUR = 3600
_TOKEN_LIMIT = 5000
_ANONYMOUS_LIMIT = 60


def _core_limit(caller: Caller, now: int) -> dict[str, int]:
    limit = _TOKEN_LIMIT if caller.token else _ANONYMOUS_LIMIT
    used = min(caller.token.used if caller.token else 0, limit)
    return {"limit": limit, "used": used, "remaining": limit - used, "reset": now - now % _HOUR + _HOUR}


def rate_limits(caller: Caller, now: int) -> dict[str, Any]:
    core = _core_limit(caller, now)
    search = {"limit": 30, "used": 0, "remaining": 30, "reset": now + 60}
    graphql = {"limit": _TOKEN_LIMIT, "used": 0, "remaining": _TOKEN_LIMIT, "reset": core["reset"]}
    return {"resources": {"core": core, "search": search, "graphql": graphql}, "rate": core}


def rate_limit_headers(caller: Caller, now: int) -> dict[str, str]:
    core = _core_limit(caller, now)
    return {
        "X-RateLimit-Limit": str(core["limit"]),
        "X-RateLimit-Remaining": str(core["remaining"]),
        "X-RateLimit-Used": str(core["used"]),
        "X-RateLimit-Reset": str(core["reset"]),
        "X-RateLimit-Resource": "core",
    }


# -- apps


def identify(state: State, token: str) -> App:
    """The app that signed a JSON web token (RS256). Raises GitHub's 401s."""
    import jwt

    try:
        claims = jwt.decode(token, options={"verify_signature": False})
        app = state.apps.get(int(claims.get("iss", 0)))
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise _undecodable() from error
    if app is None:
        raise errors.ApiError(404, "Integration not found")
    try:
        claims = jwt.decode(
            token, app.public_key, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
        )
    except jwt.InvalidTokenError as error:
        raise _undecodable() from error
    _check_times(claims, state.epoch())
    return app


def _undecodable() -> errors.ApiError:
    return errors.ApiError(401, "A JSON web token could not be decoded")


def _check_times(claims: Mapping[str, Any], now: int) -> None:
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int) or issued > now + 60:
        message = (
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
        )
        raise errors.ApiError(401, message)
    if not isinstance(expires, int) or expires <= now:
        message = (
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the "
            "assertion expires"
        )
        raise errors.ApiError(401, message)
    if expires > now + _JWT_SECONDS:
        raise errors.ApiError(401, "'Expiration time' claim ('exp') is too far in the future")

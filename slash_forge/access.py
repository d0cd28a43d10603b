"""The caller of a request: token, permissions, visible repositories and the primary rate limit."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from slash_forge import errors
from slash_forge.apps import App, identify
from slash_forge.state import Access, Repository, Role, State, Token, User


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of one request; `token` None is nobody in particular, or an app that speaks for itself."""

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
        """What this caller is in a repository, the token's own list of repositories included."""
        public = Role.NONE if repository.private else Role.READ
        if self.token is None:
            return public
        listed = self.token.repositories
        if listed is not None and repository.full_name not in listed:
            return public
        if self.is_app and listed is not None:
            # An installation has no role of its own: its permissions are the whole limit.
            return Role.WRITE
        return repository.role_of(self.token.user)

    def may(self, repository: Repository, resources: str, access: Access) -> bool:
        """Whether the token's permissions cover one of `resources` (names separated by `|`)."""
        if access == "read" and not repository.private:
            return True
        if self.token is None:
            return access == "read"
        return any(self.token.may(resource, access) for resource in resources.split("|"))

    def refusal(self) -> errors.ApiError:
        """What GitHub says to a token whose permissions do not reach."""
        if self.token is None:
            return errors.requires_authentication()
        kind = "integration" if self.is_app else "personal access token"
        return errors.forbidden(f"Resource not accessible by {kind}")

    def lent_branches(self, state: State, repository: Repository) -> frozenset[str]:
        """Branches of somebody's fork that its owner lets the parent's maintainers push to.

        That goes for people: an installation reaches no repository that it is not installed in.
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
    """Read an `Authorization` header. Raises a 401 where it names a token that does not exist."""
    if not authorization:
        return Caller(None)
    for candidate in credentials(authorization):
        token = state.tokens.get(candidate)
        if token is not None and token.lives(state.epoch()):
            return Caller(token)
        if candidate.count(".") == 2:
            return Caller(None, identify(state, candidate))
    raise errors.bad_credentials()


def credentials(authorization: str) -> list[str]:
    """What may be the token: after `token` or `Bearer`, or either half of a basic pair."""
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


def visible(state: State, signature: Caller, full_name: str) -> Repository:
    """The repository, or a 404 both for one that is not there and for one this caller may not see."""
    repository = state.repository(full_name)
    if repository is None or signature.role(repository) is Role.NONE:
        raise errors.not_found()
    return repository


_HOUR = 3600
_SIGNED_IN = 5000
_ANONYMOUS = 60


def _core(caller: Caller, now: int) -> dict[str, int]:
    limit = _SIGNED_IN if caller.token else _ANONYMOUS
    if caller.token and caller.token.quota is not None:
        limit = caller.token.quota
    used = min(caller.token.used if caller.token else 0, limit)
    return {"limit": limit, "used": used, "remaining": limit - used, "reset": now - now % _HOUR + _HOUR}


def check(caller: Caller) -> None:
    """Raises the 403 of a token that has used up what it is allowed."""
    token = caller.token
    if token and token.quota is not None and token.used > token.quota:
        raise errors.forbidden(f"API rate limit exceeded for user ID {token.user.id}.")


def rate_limits(caller: Caller, now: int) -> dict[str, Any]:
    core = _core(caller, now)
    search = {"limit": 30, "used": 0, "remaining": 30, "reset": now + 60}
    graphql = {"limit": _SIGNED_IN, "used": 0, "remaining": _SIGNED_IN, "reset": core["reset"]}
    return {"resources": {"core": core, "search": search, "graphql": graphql}, "rate": core}


def headers(caller: Caller, now: int) -> dict[str, str]:
    core = _core(caller, now)
    return {
        "X-RateLimit-Limit": str(core["limit"]),
        "X-RateLimit-Remaining": str(core["remaining"]),
        "X-RateLimit-Used": str(core["used"]),
        "X-RateLimit-Reset": str(core["reset"]),
        "X-RateLimit-Resource": "core",
    }

"""GitHub Apps: identity, installations, and the JWT by which an app authenticates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slash_forge import errors

if TYPE_CHECKING:
    from slash_forge.state import Access, State, User

# GitHub takes no longer-lived word of an app, and its tokens live an hour.
_LONGEST = 600
TOKEN_SECONDS = 3600


@dataclass(slots=True, eq=False)
class Installation:
    """`repositories` None is all of the account's."""

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


def identify(state: State, word: str) -> App:
    """The app that signed a JSON web token (RS256). Raises GitHub's 401s."""
    import jwt

    try:
        claims = jwt.decode(word, options={"verify_signature": False})
        app = state.apps.get(int(claims.get("iss", 0)))
    except (jwt.InvalidTokenError, ValueError, TypeError) as error:
        raise _undecodable() from error
    if app is None:
        raise errors.ApiError(404, "Integration not found")
    try:
        claims = jwt.decode(
            word, app.public_key, algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
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
    if expires > now + _LONGEST:
        raise errors.ApiError(401, "'Expiration time' claim ('exp') is too far in the future")

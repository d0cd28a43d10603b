"""Who is who, and how much of the rate limit is left."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.limits import rate_limits
from bot.forge.router import Route
from bot.forge.shapes import people


def get_authenticated(call: Call) -> Reply:
    if call.caller.is_app:
        # An installation is nobody's account.
        raise call.caller.refusal()
    user = call.user
    private = {
        "private_gists": 0,
        "total_private_repos": 0,
        "owned_private_repos": 0,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": True,
        "user_view_type": "private",
    }
    return Reply(200, {**people.full_user(call.site, user), **private})


def get_by_username(call: Call) -> Reply:
    user = call.state.user(call.params["username"])
    if user is None:
        raise errors.not_found()
    return Reply(200, people.full_user(call.site, user))


def rate_limit(call: Call) -> Reply:
    return Reply(200, rate_limits(call.caller, call.state.epoch()))


def meta(call: Call) -> Reply:
    return Reply(200, {"verifiable_password_authentication": False, "installed_version": "3.99.0"})


ROUTES: tuple[Route, ...] = (
    ("GET", "/user", get_authenticated),
    ("GET", "/users/{username}", get_by_username),
    ("GET", "/rate_limit", rate_limit),
    ("GET", "/meta", meta),
)

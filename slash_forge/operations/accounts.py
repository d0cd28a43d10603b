"""The account of a token, and its rate limit."""

from __future__ import annotations

from slash_forge.access import rate_limits
from slash_forge.call import Call, Reply, Route
from slash_forge.shapes import repositories


def get_authenticated(call: Call) -> Reply:
    if call.caller.is_app:
        # An installation has no account.
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
    return Reply(200, {**repositories.full_user(call.site, user), **private})


def rate_limit(call: Call) -> Reply:
    return Reply(200, rate_limits(call.caller, call.state.epoch()))


ROUTES: tuple[Route, ...] = (("GET", "/user", get_authenticated), ("GET", "/rate_limit", rate_limit))

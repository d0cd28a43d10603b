"""The primary rate limit, counted a token: reported everywhere, enforced where a test set one."""

from __future__ import annotations

from typing import Any

from bot.forge import errors
from bot.forge.access import Caller

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

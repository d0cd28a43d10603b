"""Where logs and artifacts lie: outside the API, behind addresses that nobody can guess."""

from __future__ import annotations

from collections.abc import Mapping

from bot.forge import errors
from bot.forge.call import Reply
from bot.forge.state import State

PATH = "/_store"


def answer(state: State, path: str, headers: Mapping[str, str]) -> Reply:
    """The real store refuses a request with a token: a client must not pass its own on to another host."""
    if "authorization" in headers:
        return Reply(400, b"InvalidAuthenticationInfo", content_type="application/xml")
    with state.lock:
        found = state.downloads.get(path.removeprefix(f"{PATH}/"))
    if found is None:
        raise errors.not_found()
    return Reply(200, found.data, content_type=found.content_type)

"""Accounts: who wrote something, and whose token this is."""

from __future__ import annotations

from typing import Any

from bot.github.errors import GitHubError
from bot.github.graphql import GraphQL
from bot.github.values import Account

GHOST = Account("ghost", 0, "User")

_VIEWER = "query { viewer { login databaseId } }"


def account(data: Any) -> Account:
    """Null is what GitHub gives for an account that was deleted."""
    if not data:
        return GHOST
    return Account(str(data["login"]), int(data["id"]), str(data.get("type") or "User"))


class Accounts(GraphQL):
    """Whose token this is."""

    _asked_who = False
    _me: Account | None = None

    def me(self) -> Account | None:
        """Whose token this is, asked once; `None` where the token may not ask, as GitHub lets an app's.

        An app's token may not ask REST, and may ask GraphQL: it is the bot then (`github-actions[bot]` is the one
        of Actions' own token).
        """
        if not self._asked_who:
            self._me = self._viewer() if self._is_installation() else self._ask_who()
            self._asked_who = True
        return self._me

    def _is_installation(self) -> bool:
        auth = self._hub.requester.auth
        return auth is not None and auth.token.startswith("ghs_")

    def _ask_who(self) -> Account | None:
        try:
            return self._one("asking whose token this is", "/user", account)
        except GitHubError as error:
            if error.status in (403, 404):
                return None
            raise

    def _viewer(self) -> Account | None:
        try:
            data = self._query("asking whose token this is", _VIEWER, {})
        except GitHubError as error:
            if error.status in (403, 404):
                return None
            raise
        viewer = data.get("viewer") or {}
        login, number = str(viewer.get("login") or ""), int(viewer.get("databaseId") or 0)
        if not login or not number:
            return None
        return Account(f"{login.removesuffix('[bot]')}[bot]", number, "Bot")

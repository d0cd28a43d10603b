"""Accounts of authors, and the account of the token."""

from __future__ import annotations

from typing import Any

from bot.github.errors import GitHubError
from bot.github.transport import GraphQL
from bot.github.values import Account

GHOST = Account("ghost", 0, "User")

_VIEWER = "query { viewer { login databaseId } }"


def account(data: Any) -> Account:
    """Return the account in `data`; null is a deleted one."""
    if not data:
        return GHOST
    return Account(str(data["login"]), int(data["id"]), str(data.get("type") or "User"))


class Accounts(GraphQL):
    _account_known = False
    _me: Account | None = None

    def me(self) -> Account | None:
        """The account of the token, requested once; `None` if the token may not read it.

        An installation token may read it by GraphQL only, and gets the bot (`github-actions[bot]` for Actions' token).
        """
        if not self._account_known:
            self._me = self._viewer() if self._is_installation() else self._get_user()
            self._account_known = True
        return self._me

    def _is_installation(self) -> bool:
        auth = self._hub.requester.auth
        return auth is not None and auth.token.startswith("ghs_")

    def _get_user(self) -> Account | None:
        try:
            return self._get("asking whose token this is", "/user", account)
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
        login, identity = str(viewer.get("login") or ""), int(viewer.get("databaseId") or 0)
        if not login or not identity:
            return None
        return Account(f"{login.removesuffix('[bot]')}[bot]", identity, "Bot")

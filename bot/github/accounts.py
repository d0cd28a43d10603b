"""Accounts of authors, and the account of the token."""

from functools import cached_property
from typing import Any

from github.AuthenticatedUser import AuthenticatedUser
from github.NamedUser import NamedUser
from github.Organization import Organization

from bot.github.errors import HIDDEN, GitHubError
from bot.github.transport import ApiPart
from bot.github.values import GHOST, Account

_VIEWER = "query viewer { viewer { login databaseId } }"


def account(user: NamedUser | Organization | AuthenticatedUser | None) -> Account:
    """Return the account of `user`; `None` is a deleted one."""
    return Account(user.login, user.id, user.type) if user is not None else GHOST


def graphql_account(author: Any) -> Account:
    """Return an author's account with the login as in REST: a bot's ends in `[bot]`; id 0 if it is not in the query."""
    if not author:
        return GHOST
    kind, login = author["__typename"], str(author["login"]).removesuffix("[bot]")
    login += "[bot]" if kind == "Bot" else ""
    return Account(login, int(author.get("databaseId") or 0), kind)


class Accounts(ApiPart):
    @cached_property
    def me(self) -> Account | None:
        """The account of the token, requested once; `None` if the token may not read it. Raises if it is suspended.

        An installation token may read it by GraphQL only, and gets the bot (`github-actions[bot]` for Actions' token).
        """
        auth = self.requester.auth
        try:
            if auth is not None and auth.token.startswith("ghs_"):
                return self._parsed(self._viewer)
            return self._parsed(lambda: account(AuthenticatedUser(self.requester, url="/user")))
        except GitHubError as error:
            if error.status not in HIDDEN or error.failure.suspended:
                raise
            return None

    def _viewer(self) -> Account | None:
        viewer = self.requester.graphql_query(_VIEWER, {})[1]["data"].get("viewer") or {}
        login, identity = str(viewer.get("login") or ""), int(viewer.get("databaseId") or 0)
        if not login or not identity:
            return None
        return Account(f"{login.removesuffix('[bot]')}[bot]", identity, "Bot")

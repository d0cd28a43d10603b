"""Accounts: of the token, and of the authors of texts, which are read with GitHub's HTML of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from github.AuthenticatedUser import AuthenticatedUser
from github.Issue import Issue
from github.IssueComment import IssueComment
from github.NamedUser import NamedUser
from github.Organization import Organization
from github.PullRequest import PullRequest
from github.PullRequestComment import PullRequestComment
from github.PullRequestReview import PullRequestReview

from bot.contracts.threads import GHOST, Account, TextKind
from bot.github.errors import GitHubError
from bot.github.transport import ApiPart, ApiRequester

_VIEWER = "query viewer { viewer { login databaseId } }"


def account(user: NamedUser | Organization | AuthenticatedUser | None) -> Account:
    """Return the account of `user`; `None` is a deleted one."""
    return Account(user.login, user.id, user.type) if user is not None else GHOST


def graphql_account(author: Any) -> Account:
    """Return the account of an author in GraphQL, with the login as in REST: a bot's ends in `[bot]`. The id is 0 if
    the query does not ask for it; null is a deleted account."""
    if not author:
        return GHOST
    kind, login = author["__typename"], str(author["login"]).removesuffix("[bot]")
    login += "[bot]" if kind == "Bot" else ""
    return Account(login, int(author.get("databaseId") or 0), kind)


class Accounts(ApiPart):
    _account_known = False
    _me: Account | None = None

    def me(self) -> Account | None:
        """The account of the token, requested once; `None` if the token may not read it. Raises if it is suspended.

        An installation token may read it by GraphQL only, and gets the bot (`github-actions[bot]` for Actions' token).
        """
        if not self._account_known:
            auth = self.requester.auth
            is_installation = auth is not None and auth.token.startswith("ghs_")
            try:
                if is_installation:
                    self._me = self._parsed(self._viewer)
                else:
                    self._me = self._parsed(lambda: account(AuthenticatedUser(self.requester, url="/user")))
            except GitHubError as error:
                if error.status not in (403, 404) or error.failure.suspended:
                    raise
            self._account_known = True
        return self._me

    def _viewer(self) -> Account | None:
        viewer = self.requester.graphql_query(_VIEWER, {})[1]["data"].get("viewer") or {}
        login, identity = str(viewer.get("login") or ""), int(viewer.get("databaseId") or 0)
        if not login or not identity:
            return None
        return Account(f"{login.removesuffix('[bot]')}[bot]", identity, "Bot")


T = TypeVar("T")
TextT = TypeVar("TextT", Issue, IssueComment, PullRequest, PullRequestComment, PullRequestReview)


class RenderedText(NamedTuple):
    """`author` has the id 0 for a deleted account."""

    author: Account
    body: str
    html: str


class RenderedTexts(ApiPart):
    """Reads of texts with their HTML. A text that a list or a thread has brought is not requested again."""

    def __init__(self, requester: ApiRequester) -> None:
        super().__init__(requester)
        self._texts: dict[tuple[str, TextKind, int], RenderedText] = {}

    def rendered_text(self, repository: str, kind: TextKind, number: int, own_id: int) -> RenderedText | None:
        """`number` is the thread's, `own_id` the text's own; `None` where it was deleted."""
        if kept := self._texts.get((repository.lower(), kind, own_id or number)):
            return kept
        path = {
            TextKind.THREAD: f"issues/{number}",
            TextKind.COMMENT: f"issues/comments/{own_id}",
            TextKind.REVIEW: f"pulls/{number}/reviews/{own_id}",
            TextKind.REVIEW_COMMENT: f"pulls/comments/{own_id}",
        }[kind]
        # Whatever the kind, what is read of it are the fields of a comment.
        text = IssueComment(self.requester, url=f"/repos/{repository}/{path}")
        return self._parsed_or_none(lambda: _rendered_text(text.complete()))

    def _keeping(self, repository: str, kind: TextKind, parse: Callable[[TextT], T]) -> Callable[[TextT], T]:
        """Return `parse`, for an object whose text is kept."""

        def keep(found: TextT) -> T:
            identity = found.raw_data["number" if kind is TextKind.THREAD else "id"]
            if "body_html" in found.raw_data:
                self._texts[repository.lower(), kind, identity] = _rendered_text(found)
            return parse(found)

        return keep


def _rendered_text(found: TextT) -> RenderedText:
    body = found.body or ""
    # Without its HTML a text is of no use: an answer that lacks it is one of an unknown shape.
    html = (found.raw_data["body_html"] or "") if body else ""
    return RenderedText(account(found.user), body, html)

"""Tokens for GitHub: their kinds, and whether GitHub starts workflows for pushes and pull requests by them.

https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github has
the prefixes. Actions' own token and an installation token have the same one (`ghs_`): only the account's login tells
them apart. Without it the kind is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import NamedTuple

ACTIONS_LOGIN = "github-actions[bot]"


class TokenKind(StrEnum):
    ACTIONS = "the workflow's own token (GITHUB_TOKEN)"
    APP = "an installation token of a GitHub App"
    FINE_GRAINED = "a fine-grained personal access token"
    CLASSIC = "a classic personal access token"
    OAUTH = "a user's token of an OAuth app"
    USER_TO_SERVER = "a user's token of a GitHub App"
    UNKNOWN = "a token of unknown kind"


_PREFIXES = {
    "github_pat_": TokenKind.FINE_GRAINED,
    "ghp_": TokenKind.CLASSIC,
    "gho_": TokenKind.OAUTH,
    "ghu_": TokenKind.USER_TO_SERVER,
}
INSTALLATION = "ghs_"
"""Prefix of an app's token and of Actions' own."""


class TokenFacts(NamedTuple):
    """Facts about a token. `starts_workflows` is `None` if unknown; `sentence` is for people.

    With a token that starts none, `GitHub.dispatch_workflow` still does: workflow_dispatch and
    repository_dispatch are the two events that GitHub lets GITHUB_TOKEN make.
    """

    kind: TokenKind
    starts_workflows: bool | None
    sentence: str


def token_facts(token: str, *, login: str = "") -> TokenFacts:
    """Return the facts about `token`. `login` is its account (`GitHub.me`), if known."""
    kind = token_kind(token, login=login)
    if kind is TokenKind.ACTIONS:
        sentence = (
            f"GitHub starts no workflows for what {kind} pushes, and holds those for the pull requests that it opens "
            "until somebody with write access approves them. With the token of a GitHub App they start at once."
        )
        return TokenFacts(kind, False, sentence)
    if kind is TokenKind.UNKNOWN:
        sentence = (
            f"Whether GitHub starts workflows for what is pushed with {kind} is not known: look if they ran."
        )
        return TokenFacts(kind, None, sentence)
    return TokenFacts(kind, True, f"GitHub starts workflows for what is pushed with {kind}.")


def token_kind(token: str, *, login: str = "") -> TokenKind:
    """See `token_facts`."""
    for prefix, kind in _PREFIXES.items():
        if token.startswith(prefix):
            return kind
    if not token.startswith(INSTALLATION) or not login.endswith("[bot]"):
        return TokenKind.UNKNOWN
    return TokenKind.ACTIONS if login == ACTIONS_LOGIN else TokenKind.APP


class Installation(NamedTuple):
    """How an app is installed. `permissions` by GitHub's names, such as `pull_requests`, are `read`, `write` or
    `admin`."""

    id: int
    slug: str
    permissions: Mapping[str, str]


class Access(Enum):
    """The permissions that a token may write. It may read all others of `_READABLE`."""

    READ = ()
    COMMENT = ("issues", "pull_requests")
    STOP = ("issues", "pull_requests", "actions")
    PUBLISH = ("issues", "pull_requests", "contents", "checks")

"""The kind of a token, and whether GitHub starts workflows for pushes and pull requests by it.

https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github has
the prefixes. Actions' own token and a GitHub App's look alike (`ghs_`): only who they are tells them apart, and
where that is not known, it is said to be unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """About a token, without it. `starts_workflows` is `None` where nobody can tell; `sentence` says it to people.

    With a token that starts none, `GitHub.dispatch_workflow` still does: workflow_dispatch and
    repository_dispatch are the two events that GitHub lets GITHUB_TOKEN make.
    """

    kind: TokenKind
    starts_workflows: bool | None
    sentence: str


def token_facts(token: str, *, login: str = "") -> TokenFacts:
    """`login` is whose `token` is (`GitHub.me`), if known."""
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

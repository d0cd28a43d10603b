"""Kinds of tokens."""

import pytest

from bot.github.tokens import TokenKind, token_kind

GHS = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize(
    ("token", "login", "kind"),
    [
        (GHS, "github-actions[bot]", TokenKind.ACTIONS),
        (GHS, "my-app[bot]", TokenKind.APP),
        # By nobody known: an app's, or a job's.
        (GHS, "", TokenKind.UNKNOWN),
        ("github_pat_11ABC", "", TokenKind.FINE_GRAINED),
        ("ghp_abc", "", TokenKind.CLASSIC),
        ("gho_abc", "", TokenKind.OAUTH),
        ("ghu_abc", "", TokenKind.USER_TO_SERVER),
        # A bot's login says nothing of a token whose look does not.
        ("0123456789abcdef0123456789abcdef01234567", "ci[bot]", TokenKind.UNKNOWN),
        ("", "", TokenKind.UNKNOWN),
    ],
)
def test_kinds(token: str, login: str, kind: TokenKind):
    assert token_kind(token, login) is kind

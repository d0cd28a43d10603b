"""Kinds of tokens, and what is known about whether they start workflows."""

import pytest

from bot.github.tokens import TokenKind, token_facts

GHS = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.mark.parametrize(
    ("token", "login", "kind", "starts"),
    [
        (GHS, "github-actions[bot]", TokenKind.ACTIONS, False),
        (GHS, "my-app[bot]", TokenKind.APP, True),
        # By nobody known: an app's, or a job's.
        (GHS, "", TokenKind.UNKNOWN, None),
        ("github_pat_11ABC", "", TokenKind.FINE_GRAINED, True),
        ("ghp_abc", "", TokenKind.CLASSIC, True),
        ("gho_abc", "", TokenKind.OAUTH, True),
        ("ghu_abc", "", TokenKind.USER_TO_SERVER, True),
        # A bot's login says nothing of a token whose look does not.
        ("0123456789abcdef0123456789abcdef01234567", "ci[bot]", TokenKind.UNKNOWN, None),
        ("", "", TokenKind.UNKNOWN, None),
    ],
)
def test_kinds(token: str, login: str, kind: TokenKind, starts: bool | None):
    facts = token_facts(token, login=login)
    assert (facts.kind, facts.starts_workflows) == (kind, starts)
    assert facts.sentence.endswith(".")
    assert not token or token not in repr(facts)

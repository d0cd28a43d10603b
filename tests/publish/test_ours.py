"""Whose words count as the bot's own: what makes a mark more than text that anybody can copy."""

from __future__ import annotations

import pytest

from bot.github.values import Account
from bot.publish.plan.comment import PLAN
from bot.publish.review.past import FINDING, REVIEW
from bot.publish.thread.markers import (
    ANSWER,
    ENDED,
    PROGRESS,
    PULL_REQUEST,
    REFUSED,
    SUGGESTED,
    WRITE,
    is_ours,
)

ACTIONS = Account("github-actions[bot]", 41_898_282, "Bot")
APP = Account("my-app[bot]", 7, "Bot")
PERSON = Account("ann", 5, "User")


@pytest.mark.parametrize(
    ("author", "me", "ours"),
    [
        (ACTIONS, ACTIONS, True),
        (APP, APP, True),
        (PERSON, PERSON, True),
        (ACTIONS, APP, False),
        (ACTIONS, PERSON, False),
        (APP, ACTIONS, False),
        (PERSON, APP, False),
        (APP, PERSON, False),
        (Account("github-actions[bot]", 9, "User"), APP, False),
        (Account("ghost", 0, "User"), APP, False),
        # A token that may not ask who it is: an app's.
        (APP, None, True),
        (PERSON, None, False),
    ],
)
def test_whose_words_are_ours(author: Account, me: Account | None, ours: bool) -> None:
    assert is_ours(author, me, PLAN) is ours


@pytest.mark.parametrize("kind", [PROGRESS, REFUSED, PULL_REQUEST, SUGGESTED])
def test_what_the_workflows_own_token_writes_beside_an_apps_counts(kind: str) -> None:
    assert is_ours(ACTIONS, APP, kind)
    assert is_ours(ACTIONS, PERSON, kind)


@pytest.mark.parametrize("kind", [PLAN, FINDING, REVIEW, ANSWER, ENDED, WRITE])
def test_a74_nothing_else_by_the_workflows_bot_does(kind: str) -> None:
    assert not is_ours(ACTIONS, APP, kind)

"""Whose words count as the bot's own: what makes a mark more than text that anybody can copy."""

from __future__ import annotations

import pytest

from bot.github.values import Account
from bot.publish.thread.markers import is_ours

ACTIONS = Account("github-actions[bot]", 41_898_282, "Bot")
APP = Account("my-app[bot]", 7, "Bot")
PERSON = Account("ann", 5, "User")


@pytest.mark.parametrize(
    ("author", "me", "ours"),
    [
        (ACTIONS, ACTIONS, True),
        (APP, APP, True),
        (PERSON, PERSON, True),
        # The first answer is written with the workflow's own token, whatever token publishes.
        (ACTIONS, APP, True),
        (ACTIONS, PERSON, True),
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
    assert is_ours(author, me) is ours

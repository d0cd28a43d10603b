"""The key `attachments`: whose pictures are looked at, and safe where nothing is said."""

from __future__ import annotations

import pytest

from bot.contracts.request import Tier
from bot.policy.load import load_policy
from bot.policy.problems import PolicyError


def test_without_a_word_only_those_with_write_permission() -> None:
    assert load_policy(None).attachments.tiers == {Tier.MAINTAINER}
    assert load_policy("attachments: {}\n").attachments.tiers == {Tier.MAINTAINER}


def test_the_tiers_are_those_that_are_listed() -> None:
    listed = load_policy("attachments: {tiers: [contributor, bot]}\n").attachments.tiers
    assert listed == {Tier.CONTRIBUTOR, Tier.BOT}
    assert load_policy("attachments: {tiers: []}\n").attachments.tiers == frozenset()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("attachments: {tier: [bot]}", "`tier`"),
        ("attachments: {tiers: [schedule]}", "`schedule` is not one of"),
        ("attachments: {tiers: [local]}", "`local` is not one of"),
        ("attachments: {tiers: [bot, bot]}", "listed twice"),
        ("attachments: {tiers: maintainer}", "expected a list"),
        ("attachments: [maintainer]", "expected a mapping"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=r"1:\d+") as caught:
        load_policy(f"{text}\n")
    assert said in str(caught.value)

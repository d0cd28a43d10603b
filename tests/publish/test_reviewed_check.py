"""The check run that marks a head as reviewed: made once, and only ours counts."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from github.CheckRun import CheckRun

from bot.github.values import Account
from bot.publish.review.posted_reviews import is_by_us, post_empty_review
from tests.publish.conftest import REPO, World


def test_a_check_run_that_another_app_made_beforehand_is_not_taken_for_ours(world: World):
    world.forge.add_user("some-ci[bot]", kind="Bot")
    granted: dict[str, Any] = {"checks": "write", "contents": "read"}
    other = world.github(world.forge.token("some-ci[bot]", granted, repo=REPO))
    host = world.github(world.forge.token(permissions={"checks": "write"}, repo=REPO))
    for github in (other, host, host):
        post_empty_review(github, 1, world.base_sha)
    made = list(host.check_runs(world.base_sha))
    assert [run.app.slug for run in made] == ["github-actions", "some-ci"]


@pytest.mark.parametrize(
    ("app", "me", "ours"),
    [
        ("slash-agent", Account("slash-agent[bot]", 7, "Bot"), True),
        ("github-actions", Account("slash-agent[bot]", 7, "Bot"), False),
        ("slash-agent", None, False),
        ("", Account("[bot]", 7, "Bot"), False),
        ("github-actions", Account("ann", 8, "User"), True),
        ("ann", Account("ann", 8, "User"), False),
    ],
)
def test_whose_a_check_run_is(app: str, me: Account | None, ours: bool):
    run = SimpleNamespace(app=SimpleNamespace(slug=app) if app else None)
    assert is_by_us(cast(CheckRun, run), me) is ours

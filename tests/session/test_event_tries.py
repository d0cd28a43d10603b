"""A failed run sets off a fix of its pull request, at most twice a head: counted by our own comments."""

from __future__ import annotations

import pytest

from bot.contracts.request import Trigger
from bot.github.client import connect
from bot.publish.thread.history import count_tries
from bot.publish.thread.markers import trigger_key
from slash_forge.bundled import MAINTAINER
from tests.support.stage import Stage

BOT = "github-actions[bot]"
HEAD, OTHER = "a" * 40, "b" * 40


def failed(head: str, run: int) -> str:
    """The key of the request that the failed run `run` at `head` makes."""
    url = f"https://github.test/riverbend/tidytime/actions/runs/{run}"
    return trigger_key(Trigger("workflow_run", 0, url, "2026-01-01T00:00:00Z"), head)


@pytest.mark.parametrize(
    ("keys", "login", "tried"),
    [
        ([], BOT, 0),
        ([failed(HEAD, 5)], BOT, 1),
        ([failed(HEAD, 5), failed(HEAD, 5)], BOT, 1),
        ([failed(HEAD, 5), failed(HEAD, 6)], BOT, 2),
        ([failed(OTHER, 5), "10", "r10", "thread"], BOT, 0),
        ([failed(HEAD, 5)], MAINTAINER, 0),
    ],
)
def test_tries_are_the_requests_that_failed_runs_made_at_that_head(
    stage: Stage, keys: list[str], login: str, tried: int
) -> None:
    for key in keys:
        body = f"said\n\n<!-- slash-agent progress request={key} run=7 state=over -->"
        stage.forge.comment(stage.repo, stage.sample.issue, login, body)
    github = connect(stage.sample.run_token, stage.forge.api_url)
    assert count_tries(github, stage.repo, stage.sample.issue, HEAD) == tried


def test_every_other_event_has_the_key_of_the_comment_that_asked() -> None:
    url = "https://github.test/octo/hello/issues/1#issuecomment-9"
    assert trigger_key(Trigger("issue_comment", 9, url, ""), "") == "9"
    assert trigger_key(Trigger("pull_request_review_comment", 9, url, ""), HEAD) == "r9"
    assert trigger_key(Trigger("issues", 0, url, ""), "") == "thread"

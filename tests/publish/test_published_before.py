"""Publishing a bundle again, whatever became of its pull request, and being cancelled while it is opened."""

from typing import Any

import pytest
from github.PullRequest import PullRequest

from bot.github.client import GitHub
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import PROGRESS
from tests.publish.conftest import REPO, World

BRANCH = "agent/issue-1-round-totals-once-at-the-end"


def happens(world: World, number: int, event: str) -> None:
    match event:
        case "merged" | "squashed":
            world.forge.merge(REPO, number, "ann", "squash" if event == "squashed" else "merge")
        case "closed":
            world.forge.set_thread(REPO, number, state="closed")
        case "deleted":
            world.forge.delete_branch(REPO, BRANCH)
        case "a person's commit":
            world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")
        case "the base went on":
            world.forge.commit(REPO, {"README.md": "theirs\n"}, author="ann")


def progress(world: World) -> None:
    where = ThreadRef(world.github(), world.issue, str(world.comment_id))
    where.put(PROGRESS, "**Working on it**", {"state": "on"})


@pytest.mark.parametrize(
    ("events", "signed"),
    [
        ("merged, deleted", False),
        ("squashed, deleted, the base went on", False),
        ("squashed, deleted, the base went on", True),
        ("a person's commit, squashed, deleted", False),
        ("closed", False),
        ("deleted", False),
    ],
)
def test_publishing_again_opens_no_second_one_and_says_what_became_of_the_first(
    world: World, events: str, signed: bool
):
    if signed:
        world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {signed: true}\n"})
    progress(world)
    bundle = world.bundle()
    number = world.publish(bundle).pr_number
    for event in events.split(", "):
        happens(world, number, event)
    before = (world.branches(), world.pulls(), world.comments())
    again = world.publish(bundle)
    assert (world.branches(), world.pulls(), world.comments()) == before
    assert (again.pr_number, again.created, len(world.pulls())) == (number, False, 1)
    assert again.ended == ("merged" if "merged" in events or "squashed" in events else "closed")
    assert any("**Done:**" in body for body in world.comments())
    assert world.publish(world.bundle({"invoice.py": "total = sum\n"})).created, "another result is a new one"


# Cancelled


def test_one_that_was_opened_when_publishing_was_cancelled_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    progress(world)
    opening = GitHub.open_pull

    def cut(self: GitHub, *args: Any, **named: Any) -> PullRequest:
        opening(self, *args, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(GitHub, "open_pull", cut)
    with pytest.raises(KeyboardInterrupt):
        world.publish(world.bundle())
    assert any("**Done:** pull request" in body for body in world.comments())

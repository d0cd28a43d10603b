"""Publishing a bundle again, whatever became of its pull request, and being cancelled while it is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bot.contracts.errors import PublishError
from bot.contracts.outcome import Status
from bot.github.client import GitHub
from bot.github.values import PullData
from bot.publish.thread.comments import put_comment
from bot.publish.thread.markers import PROGRESS, ThreadRef
from tests.publish.conftest import REPO, World

BRANCH = "agent/issue-1-round-totals-once-at-the-end"


def merged(world: World, number: int) -> None:
    world.forge.merge(REPO, number, "ann")


def squashed(world: World, number: int) -> None:
    world.forge.merge(REPO, number, "ann", "squash")


def closed(world: World, number: int) -> None:
    world.forge.set_thread(REPO, number, state="closed")


def deleted(world: World, number: int) -> None:
    world.forge.delete_branch(REPO, BRANCH)


def committed(world: World, number: int) -> None:
    world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")


def base_went_on(world: World, number: int) -> None:
    world.forge.commit(REPO, {"README.md": "theirs\n"}, author="ann")


Step = Callable[[World, int], None]
ENDS: dict[str, tuple[tuple[Step, ...], str]] = {
    "merged": ((merged,), "merged"),
    "merged and deleted": ((merged, deleted), "merged"),
    "squashed": ((squashed,), "merged"),
    "squashed and deleted": ((squashed, deleted), "merged"),
    "squashed, deleted, and the base went on": ((squashed, deleted, base_went_on), "merged"),
    "squashed with a person's commit and deleted": ((committed, squashed, deleted), "merged"),
    "closed": ((closed,), "closed"),
    "closed with a person's commit": ((committed, closed), "closed"),
    "closed by deleting its branch": ((deleted,), "closed"),
}


def progress(world: World) -> None:
    key = str(world.comment_id)
    put_comment(
        world.github(), ThreadRef(REPO, world.issue, key), PROGRESS, "**Working on it**", {"state": "on"}
    )


@pytest.mark.parametrize(
    "signed", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["plain", "signed"]
)
@pytest.mark.parametrize(("steps", "state"), ENDS.values(), ids=ENDS.keys())
def test_publishing_again_opens_no_second_one_and_says_what_became_of_the_first(
    world: World, steps: tuple[Step, ...], state: str, signed: bool
) -> None:
    if signed:
        world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {signed: true}\n"})
    progress(world)
    bundle = world.bundle()
    number = world.publish(bundle).pr_number
    for step in steps:
        step(world, number)
    before = (world.branches(), world.pulls(), world.comments())
    again = world.publish(bundle)
    assert (world.branches(), world.pulls(), world.comments()) == before
    assert (again.pr_number, again.created, len(world.pulls())) == (number, False, 1)
    assert again.ended == state
    assert any("**Done:**" in body for body in world.comments())


def test_a_numbered_branch_that_was_deleted_is_found_while_the_plain_name_is_taken(world: World) -> None:
    world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")
    bundle = world.bundle()
    first = world.publish(bundle)
    world.forge.merge(REPO, first.pr_number, "ann", "squash")
    world.forge.delete_branch(REPO, first.branch)
    assert first.branch == f"{BRANCH}-2"
    assert world.publish(bundle).pr_number == first.pr_number
    assert len(world.pulls()) == 1


def test_another_result_after_a_close_is_a_new_pull_request(world: World) -> None:
    first = world.publish(world.bundle())
    closed(world, first.pr_number)
    second = world.publish(world.bundle({"README.md": "Bye\n"}))
    assert second.created


def test_a_failure_afterwards_does_not_replace_the_result(world: World) -> None:
    progress(world)
    bundle = world.bundle()
    world.publish(bundle)
    before = world.comments()
    world.forge.fail_next("GET", "/pulls", status=422, body={"message": "No"}, times=9)
    with pytest.raises(PublishError):
        world.publish(bundle)
    assert world.comments() == before


# Cancelled


def cancelled_in(monkeypatch: pytest.MonkeyPatch, name: str, *, effect: bool) -> None:
    """A signal arrives once while the client's method waits for its response."""
    real: Callable[..., Any] = getattr(GitHub, name)

    def method(self: GitHub, *args: Any, **named: Any) -> Any:
        monkeypatch.setattr(GitHub, name, real)
        if effect:
            real(self, *args, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(GitHub, name, method)


@pytest.mark.parametrize("name", ["open_pull", "request_review", "edit_comment"])
def test_a_pull_request_that_was_opened_is_said_to_be(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    progress(world)
    bundle = world.bundle()
    cancelled_in(monkeypatch, name, effect=name == "open_pull")
    with pytest.raises(KeyboardInterrupt):
        world.publish(bundle)
    assert any("**Done:** pull request" in body for body in world.comments())
    before = (world.pulls(), world.comments())
    world.publish(bundle)
    assert (world.pulls(), world.comments()) == before


def test_one_that_opens_a_moment_later_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    progress(world)
    real = GitHub.open_pull
    late: list[Callable[[], PullData]] = []

    def cut(self: GitHub, *args: Any, **named: Any) -> PullData:
        late.append(lambda: real(self, *args, **named))
        raise KeyboardInterrupt

    look = GitHub.pulls_from

    def looking(self: GitHub, repository: str, branch: str, state: str = "open") -> list[PullData]:
        found = look(self, repository, branch, state)
        if late and not found:
            late.pop()()
        return found

    monkeypatch.setattr(GitHub, "open_pull", cut)
    monkeypatch.setattr(GitHub, "pulls_from", looking)
    with pytest.raises(KeyboardInterrupt):
        world.publish(world.bundle())
    assert any("**Done:** pull request" in body for body in world.comments())


def test_one_that_was_not_opened_is_not_said_to_have_failed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress(world)
    cancelled_in(monkeypatch, "open_pull", effect=False)
    with pytest.raises(KeyboardInterrupt):
        world.publish(world.bundle())
    [body] = [body for body in world.comments() if "slash-agent progress" in body]
    assert body.startswith("**Publishing was cancelled.** Publish the bundle again, or run the job again.")


def test_an_answer_that_was_posted_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    progress(world)
    bundle = world.bundle({}, status=Status.ANSWERED, answer="Because of the rounding.")
    cancelled_in(monkeypatch, "edit_comment", effect=True)
    with pytest.raises(KeyboardInterrupt):
        world.publish(bundle)
    assert any("Because of the rounding." in body for body in world.comments())

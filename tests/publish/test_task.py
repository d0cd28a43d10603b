"""A maintenance task's result: one open pull request a task, within the task's own bounds."""

from typing import Any

import pytest

from bot.contracts.errors import GateError, PublishError, UsageError
from bot.contracts.request import Actor, Tier
from bot.publish.bundle import Bundle
from bot.publish.thread.markers import PULL_REQUEST, read_mark
from tests.publish.conftest import FIXED, REPO, World

TASK = "---\npaths: [invoice.py]\nlabels: [maintenance]\n---\nRound totals.\n"
BRANCH = "agent/task-rounding"


@pytest.fixture(autouse=True)
def task(world: World) -> None:
    world.base_sha = world.forge.commit(REPO, {".github/agent/rounding.md": TASK})


def scheduled(
    world: World, changes: dict[str, str] | None = None, *, task: str = "rounding", **fields: Any
) -> Bundle:
    request = world.outcome().request._replace(
        actor=Actor("schedule", 0, Tier.SCHEDULE), thread=None, trigger=None, task=task
    )
    return world.bundle(changes, request=request, **fields)


def test_a_task_has_a_branch_and_a_mark_of_its_own(world: World):
    published = world.publish(scheduled(world))
    (pull,) = world.pulls()
    assert published.branch == pull["head"]["ref"] == BRANCH
    mark = read_mark(pull["body"], PULL_REQUEST)
    assert mark is not None
    assert mark["task"] == "rounding"
    assert [label["name"] for label in pull["labels"]] == ["maintenance"]


@pytest.mark.slow
def test_one_that_people_have_committed_to_is_theirs_and_there_is_no_second(world: World):
    bundle = scheduled(world)
    first = world.publish(bundle)
    theirs = world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")
    with pytest.raises(PublishError, match=f"People have committed to #{first.pr_number}"):
        world.publish(scheduled(world, {"invoice.py": FIXED + "# more\n"}))
    assert world.branches()[BRANCH] == theirs
    assert len(world.pulls()) == 1
    # The result that it was made of is found beneath their commits.
    assert world.publish(bundle).pr_number == first.pr_number


@pytest.mark.slow
def test_a_change_outside_the_tasks_paths_is_tampering(world: World):
    with pytest.raises(GateError, match="the task rounding"):
        world.publish(scheduled(world, {"README.md": "Bye\n"}))


@pytest.mark.parametrize("name", ["../agent", "a.b", "Rounding", "a-"])
def test_a_name_that_is_no_tasks_is_refused(world: World, name: str):
    with pytest.raises((PublishError, UsageError)):
        world.publish(scheduled(world, task=name))
    assert set(world.branches()) == {"main"}

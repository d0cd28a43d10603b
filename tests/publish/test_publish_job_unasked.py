"""The second job where no comment asked: a schedule or a dispatch, and what the workflow gives to both of its jobs."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.contracts.errors import AgentError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Request, Tier, Trigger
from bot.session.event.publish_bundle import PublishJob, publish_bundle
from tests.publish.conftest import REPO, World
from tests.publish.test_publish_job import Event, bundle_of, environment

RUN = "4711"
WISH = "--no-draft mend the rounding"
TASK = "---\nschedule: daily\n---\nMend what is rounded wrongly.\n"


def published(world: World, outcome: Outcome, name: str, event: Event, **given: str) -> None:
    where = environment(world, name, event) | {"GITHUB_RUN_ID": RUN, "SLASH_AGENT_INSTRUCTION": WISH, **given}
    publish_bundle(PublishJob(where, world.said.append), bundle_of(world, outcome))


def outcome_of(world: World, name: str, actor: Actor) -> Outcome:
    """What a run for the event `name` leaves, by the instruction `WISH`."""
    request = Request(
        "fix", "mend the rounding", actor, REPO, "main", world.forge.clone_url(REPO),
        trigger=Trigger(name, 0, f"{world.forge.url}/{REPO}/actions/runs/{RUN}", "2026-01-02T03:04:05Z"),
        options={"draft": "false"},
    )  # fmt: skip
    return world.outcome()._replace(request=request)


def scheduled(world: World) -> tuple[Outcome, str, Event]:
    return (
        outcome_of(world, "schedule", Actor("schedule", 0, Tier.SCHEDULE)),
        "schedule",
        {"schedule": "0 0 * * *"},
    )


def dispatched(world: World) -> tuple[Outcome, str, Event]:
    _, comment = world.forge.comment(REPO, world.issue, "ann", "hello")
    event = {name: comment[name] for name in ("repository", "sender")} | {"inputs": {"instruction": WISH}}
    actor = Actor("ann", world.ann, Tier.MAINTAINER)
    return outcome_of(world, "workflow_dispatch", actor), "workflow_dispatch", event


MAKERS = pytest.mark.parametrize("make", [scheduled, dispatched])


@pytest.mark.slow
@MAKERS
def test_what_the_workflow_asked_for_is_published(world: World, make: Callable[[World], Any]):
    published(world, *make(world))
    [pull] = world.pulls()
    assert not pull["draft"]


CHANGES: dict[str, Callable[[Request], Request]] = {
    "another verb": lambda request: request._replace(verb="continue"),
    "another instruction": lambda request: request._replace(instruction="mend nothing"),
    "another base": lambda request: request._replace(base_ref="lax"),
    "another draft": lambda request: request._replace(options={}),
    "a task": lambda request: request._replace(task="links"),
    "another run": lambda request: request._replace(trigger=request.trigger._replace(url="https://x/1")),
    "another event": lambda request: request._replace(trigger=request.trigger._replace(event="issues")),
    "another person": lambda request: request._replace(actor=Actor("bob", 1, Tier.MAINTAINER)),
    "another tier": lambda request: request._replace(actor=request.actor._replace(tier=Tier.BOT)),
    "a head that is vouched for": lambda request: request._replace(trusted_sha="0" * 40),
    "another policy": lambda request: request._replace(policy_file=".github/lax.yml"),
}


@MAKERS
def test_a_bundle_changed_on_its_way_is_not_published(world: World, make: Callable[[World], Any]):
    world.forge.commit(REPO, {".github/agent.yml": "version: 1\n"}, branch="lax", author="ann")
    outcome, name, event = make(world)
    before = world.branches()
    for change in CHANGES.values():
        with pytest.raises(AgentError, match="is another"):
            published(world, outcome._replace(request=change(outcome.request)), name, event)
    assert world.branches() == before
    assert world.pulls() == []


@pytest.mark.slow
def test_a_task_is_the_one_that_the_job_names(world: World):
    world.forge.commit(REPO, {".github/agent/rounding.md": TASK, ".github/agent/links.md": TASK})
    base = world.forge.branch_sha(REPO)
    assert base is not None
    world.base_sha = base
    outcome, name, event = scheduled(world)
    request = outcome.request._replace(task="links", instruction=None, options={})
    outcome = world.outcome()._replace(request=request)
    with pytest.raises(AgentError, match="Nothing was done"):
        published(world, outcome, name, event, SLASH_AGENT_TASK="rounding", SLASH_AGENT_INSTRUCTION="")
    assert world.pulls() == []
    published(world, outcome, name, event, SLASH_AGENT_TASK="links", SLASH_AGENT_INSTRUCTION="")
    assert [pull["head"]["ref"] for pull in world.pulls()] == ["agent/task-links"]


def test_a_job_that_is_not_told_what_was_asked_says_which_inputs_it_takes(world: World):
    with pytest.raises(AgentError, match="`instruction` and `task`"):
        published(world, *scheduled(world), SLASH_AGENT_INSTRUCTION="")
    assert world.pulls() == []

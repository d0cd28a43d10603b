"""The second job: what the event, the policy and GitHub say counts, and not what the bundle says of them."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.cli.publish import run
from bot.contracts.errors import AgentError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Request, Tier, Trigger
from bot.publish.bundle import Bundle, write_bundle
from bot.session.event.publish_bundle import PublishJob, publish_bundle
from tests.publish.conftest import FIXED, REPO, WRITES, World
from tests.support.apps import make_app

Event = dict[str, Any]


def environment(world: World, name: str = "", event: Event | None = None) -> dict[str, str]:
    found = {
        "GITHUB_SERVER_URL": world.forge.url,
        "GITHUB_API_URL": world.forge.api_url,
        "GITHUB_REPOSITORY": REPO,
        "GITHUB_TOKEN": world.token,
    }
    if event is None:
        return found
    path = world.room("event")
    path.write_text(json.dumps(event))
    return {**found, "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path)}


def bundle_of(world: World, outcome: Outcome) -> Path:
    folder = world.room("bundle")
    write_bundle(Bundle(folder, outcome, world.patch({"invoice.py": FIXED}), b"", "Round totals\n"))
    return folder


def published(world: World, folder: Path, **where: Any) -> None:
    publish_bundle(PublishJob(environment(world, **where), world.said.append), folder)


@pytest.mark.parametrize(
    ("actor", "ok"),
    [
        (Actor("ann", 0, Tier.MAINTAINER), True),
        (Actor("ann", 0, Tier.CONTRIBUTOR), False),
        (Actor("ann", 77, Tier.MAINTAINER), False),
        (Actor("eve", 0, Tier.MAINTAINER), False),
        (Actor("ann", 0, Tier.LOCAL), False),
    ],
)
def test_what_the_asker_may_is_looked_up_again(world: World, actor: Actor, ok: bool):
    """Rules on paths go by the tier, so a bundle may not choose its own."""
    world.forge.add_user("eve")
    outcome = world.outcome()
    known = actor._replace(
        id=actor.id or (world.ann if actor.login == "ann" else world.forge.add_user("eve"))
    )
    folder = bundle_of(world, outcome._replace(request=outcome.request._replace(actor=known)))
    if ok:
        published(world, folder)
        assert len(world.pulls()) == 1
        return
    with pytest.raises(AgentError, match=r"who asked|less access now"):
        published(world, folder)
    assert set(world.branches()) == {"main"}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "headings"), [("publish", ["changed"]), ("both", ["published"])])
def test_where_the_run_was_a_step_of_the_same_job_its_summary_is_not_given_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, mode: str, headings: list[str]
):
    summary = world.room("summary")
    outputs = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true", "SLASH_AGENT_MODE": mode}
    for name, value in {**environment(world), **outputs}.items():
        monkeypatch.setenv(name, value)
    for name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_OUTPUT"):
        monkeypatch.delenv(name, raising=False)
    run(argparse.Namespace(bundle=bundle_of(world, world.outcome()), note="", dry_run=False))
    said = summary.read_text()
    assert [
        line.removeprefix("## Slash Agent: ") for line in said.splitlines() if line.startswith("## ")
    ] == headings
    assert world.pulls()[0]["html_url"] in said
    assert ("### The run" in said) is (mode == "publish")


def test_the_action_tells_publishing_whether_the_run_was_in_its_job():
    steps = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())["runs"]["steps"]
    (publish,) = [step for step in steps if step.get("id") == "publish"]
    assert publish["env"]["SLASH_AGENT_MODE"] == "${{ inputs.mode }}"


@pytest.mark.parametrize("acts", ["an app", "the workflow's token"])
def test_a_result_for_a_repository_that_was_renamed_is_published_whoever_acts(world: World, acts: str):
    app = make_app(world.forge, "octo", WRITES)
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {ci: start}\n"})
    folder = bundle_of(world, world.outcome())
    world.forge.rename_repository(REPO, "octo/greeting")
    where = {**environment(world), **(app.environment if acts == "an app" else {})}
    publish_bundle(PublishJob(where, world.said.append), folder)
    assert len(world.api("/pulls?state=all")) == 1


@pytest.mark.parametrize("tier", [Tier.SCHEDULE, Tier.BOT])
def test_nobody_but_its_event_knows_of_a_schedule_or_a_bot(world: World, tier: Tier):
    """Their rules on paths may be other ones than those for whom the run was really made."""
    outcome = world.outcome()
    claimed = outcome._replace(request=outcome.request._replace(actor=Actor("ann", world.ann, tier)))
    with pytest.raises(AgentError, match=f"who asked, the tier {tier}, is another"):
        published(world, bundle_of(world, claimed), name="deployment", event={"action": "created"})
    assert set(world.branches()) == {"main"}


# Where no comment asked: a schedule or a dispatch, and what the workflow gives to both of its jobs

RUN = "4711"
WISH = "--no-draft mend the rounding"
TASK = "---\nschedule: daily\n---\nMend what is rounded wrongly.\n"


def published_for(world: World, outcome: Outcome, name: str, event: Event, **given: str) -> None:
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
def test_what_the_workflow_asked_for_is_published_for(world: World, make: Callable[[World], Any]):
    published_for(world, *make(world))
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
def test_a_bundle_changed_on_its_way_is_not_published_for(world: World, make: Callable[[World], Any]):
    world.forge.commit(REPO, {".github/agent.yml": "version: 1\n"}, branch="lax", author="ann")
    outcome, name, event = make(world)
    before = world.branches()
    for change in CHANGES.values():
        with pytest.raises(AgentError, match="is another"):
            published_for(world, outcome._replace(request=change(outcome.request)), name, event)
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
        published_for(world, outcome, name, event, SLASH_AGENT_TASK="rounding", SLASH_AGENT_INSTRUCTION="")
    assert world.pulls() == []
    published_for(world, outcome, name, event, SLASH_AGENT_TASK="links", SLASH_AGENT_INSTRUCTION="")
    assert [pull["head"]["ref"] for pull in world.pulls()] == ["agent/task-links"]


def test_a_job_that_is_not_told_what_was_asked_says_which_inputs_it_takes(world: World):
    with pytest.raises(AgentError, match="`instruction` and `task`"):
        published_for(world, *scheduled(world), SLASH_AGENT_INSTRUCTION="")
    assert world.pulls() == []

"""The second job: what the event, the policy and GitHub say counts, and not what the bundle says of them."""

import argparse
import json
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from bot.cli.publish import run
from bot.contracts.errors import AgentError
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Tier
from bot.publish.bundle import Bundle, write_bundle
from bot.session.event.publish_bundle import PublishJob, publish_bundle
from tests.publish.conftest import FIXED, REPO, World
from tests.support.apps import make_app

Event = dict[str, Any]
NEEDED: tuple[str, ...] = ("contents", "issues", "pull_requests")
PUBLISHES: dict[str, Literal["read", "write"]] = dict.fromkeys(NEEDED, "write")


def environment(world: World, name: str = "", event: Event | None = None, token: str = "") -> dict[str, str]:
    found = {
        "GITHUB_SERVER_URL": world.forge.url,
        "GITHUB_API_URL": world.forge.api_url,
        "GITHUB_REPOSITORY": REPO,
        "GITHUB_TOKEN": token or world.token,
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


# -- the repository was renamed while the run was under way


@pytest.mark.parametrize("acts", ["an app", "the workflow's token"])
def test_also_for_an_issue_whoever_acts(world: World, acts: str):
    app = make_app(world.forge, "octo", PUBLISHES)
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

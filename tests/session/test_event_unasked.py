"""Events that nobody wrote a command for: a schedule, a dispatch, a label."""

from __future__ import annotations

from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap

LABELS = "triggers:\n  labels:\n    agent-fix: fix\n"


def _labelled(stage: Stage, login: str = MAINTAINER) -> dict[str, Any]:
    """What GitHub would deliver when somebody sets the label on the sample's issue."""
    event = stage.sample.event
    return {
        "action": "labeled",
        "issue": event["issue"],
        "label": {"name": "Agent-Fix"},
        "repository": event["repository"],
        "sender": stage.ask("words", login)["sender"],
    }


@pytest.mark.slow
def test_a_schedule_that_does_not_name_its_repository_is_carried_out(stage: Stage) -> None:
    with ModelServer(fix_steps()) as server:
        ran = stage.run(
            "--instruction", "mend how durations carry", model=server, event={"schedule": "0 4 * * *"}, name="schedule"
        )  # fmt: skip
    assert ran.code == 0, ran.output
    file = stage.event_file({"schedule": "0 4 * * *"})
    given = {"SLASH_AGENT_INSTRUCTION": "mend how durations carry"}
    published = stage.publish(GITHUB_EVENT_NAME="schedule", GITHUB_EVENT_PATH=str(file), **given)
    assert published.code == 0, published.output
    [pull] = stage.pulls()
    assert pull["base"]["ref"] == "main"


@pytest.mark.slow
def test_a_label_that_the_policy_names_is_carried_out(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": LABELS})
    event = _labelled(stage)
    with ModelServer(fix_steps()) as server:
        ran = stage.run(model=server, event=event, name="issues")
    assert ran.code == 0, ran.output
    file = stage.event_file(event)
    published = stage.publish(GITHUB_EVENT_NAME="issues", GITHUB_EVENT_PATH=str(file))
    assert published.code == 0, published.output
    assert len(stage.pulls()) == 1


def test_a_schedule_may_what_the_default_branchs_policy_gives_it(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": "tiers:\n  schedule:\n    verbs: [explain]\n"})
    ran = stage.run("--instruction", "fix it", event={"schedule": "0 4 * * *"}, name="schedule")
    assert ran.code == 3
    asked = [one.query for one in stage.forge.requests if one.path.endswith("agent.yml")]
    assert asked == ["ref=main"]

"""The verbs by the command line, as the two jobs of a workflow do it: the comment, `run`, `publish`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slash_forge.bundled import REPORTER
from tests.support.fix_script import DONE, VIEW
from tests.support.model_script import Call, Say
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap

SUBMIT = Call(
    "submit_plan",
    {"title": "Round durations first", "steps": [{"text": "Round first.", "paths": ["tidytime/format.py"]}]},
)


def comments(stage: Stage, with_text: str) -> list[dict[str, Any]]:
    found = stage.get(f"issues/{stage.sample.issue}/comments?per_page=100")
    return [one for one in found if one["user"]["type"] == "Bot" and with_text in one["body"]]


def plan_in(stage: Stage) -> tuple[int, str]:
    """The id of the plan comment, and the command beneath it."""
    [comment] = comments(stage, "**Plan:")
    found = re.search(r"`(/agent approve [0-9a-f]{12})`", comment["body"])
    assert found
    return comment["id"], found[1]


def test_a35_a_plan_that_was_edited_is_refused_before_a_model_is_asked(stage: Stage) -> None:
    stage.act_as_app()
    event = stage.ask("/agent plan how to mend this")
    with ModelServer([VIEW, SUBMIT, Say("Planned.")]) as server:
        assert stage.run(model=server, event=event).code == 0
    stage.publish_event(event)
    comment, approve = plan_in(stage)
    [was] = comments(stage, "**Plan:")
    stage.forge.edit_comment(stage.repo, comment, was["body"].replace("Round first.", "Open the back door."))
    event = stage.ask(approve)
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server, event=event)
        assert server.requests == []
    assert ran.code == 2
    assert comments(stage, "was edited after it was posted, so it is not carried out")


@pytest.mark.slow
def test_an_outsider_to_whom_the_policy_gives_a_verb_has_limits_to_use_it(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": "version: 1\nthread_author: [explain]\n"})
    event = stage.ask("/agent explain why it says 60 seconds", REPORTER)
    with ModelServer([VIEW, Say("It rounds too late.")]) as server:
        ran = stage.run(model=server, event=event, token=stage.bot_token(), **stage.job())
    assert ran.code == 0, ran.output
    assert stage.outcome()["status"] == "answered"

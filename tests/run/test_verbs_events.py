"""The verbs by the command line, as the two jobs of a workflow do it: the comment, `run`, `publish`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from bot.forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE, EDITS, VIEW, mending
from tests.support.model_script import Call, Say, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.stage import Ran, Stage

pytestmark = pytest.mark.bubblewrap

SUBMIT = Call(
    "submit_plan",
    {"title": "Round durations first", "steps": [{"text": "Round first.", "paths": ["tidytime/format.py"]}]},
)


def carried_out(
    stage: Stage, body: str, steps: Sequence[Step], *, login: str = MAINTAINER, code: int = 0
) -> Ran:
    """`run` and, where that went well, `publish` in the job of the same event."""
    event = stage.ask(body, login)
    with ModelServer(steps) as server:
        ran = stage.run(model=server, event=event)
    assert ran.code == code, ran.said
    if code == 0:
        file = stage.event_file(event)
        published = stage.publish(GITHUB_EVENT_NAME="issue_comment", GITHUB_EVENT_PATH=str(file))
        assert published.code == 0, published.said
    return ran


def comments(stage: Stage, with_text: str) -> list[dict[str, Any]]:
    found = stage.get(f"issues/{stage.sample.issue}/comments?per_page=100")
    return [one for one in found if one["user"]["type"] == "Bot" and with_text in one["body"]]


def plan_in(stage: Stage) -> tuple[int, str]:
    """The id of the plan comment, and the command beneath it."""
    [comment] = comments(stage, "**Plan:")
    found = re.search(r"`(/agent approve [0-9a-f]{12})`", comment["body"])
    assert found
    return comment["id"], found[1]


def test_a_plan_is_approved_in_the_thread_once(stage: Stage) -> None:
    carried_out(stage, "/agent plan how to mend this", [VIEW, SUBMIT, Say("Planned.")])
    assert stage.pulls() == []
    _, approve = plan_in(stage)
    carried_out(stage, approve, mending())
    [pull] = stage.pulls()
    assert approve.rpartition(" ")[2] in pull["body"]
    assert comments(stage, "**Carried out:** pull request #")
    carried_out(stage, approve, [DONE], code=2)
    assert comments(stage, "was carried out already")
    assert len(stage.pulls()) == 1


def test_a_plan_that_was_edited_is_refused_before_a_model_is_asked(stage: Stage) -> None:
    carried_out(stage, "/agent plan how to mend this", [SUBMIT, Say("Planned.")])
    comment, approve = plan_in(stage)
    [was] = comments(stage, "**Plan:")
    stage.forge.edit_comment(stage.repo, comment, was["body"].replace("Round first.", "Open the back door."))
    event = stage.ask(approve)
    with ModelServer([DONE]) as server:
        ran = stage.run(model=server, event=event)
        assert server.requests == []
    assert ran.code == 2
    assert comments(stage, "was edited after it was posted, so it is not carried out")


def test_somebody_who_may_not_approve_does_not(stage: Stage) -> None:
    carried_out(stage, "/agent plan how to mend this", [SUBMIT, Say("Planned.")])
    _, approve = plan_in(stage)
    carried_out(stage, approve, [DONE], login=REPORTER, code=3)
    assert stage.pulls() == []


def test_an_explanation_is_answered_in_the_thread(stage: Stage) -> None:
    carried_out(stage, "/agent explain why it says 60 seconds", [VIEW, Say("It rounds too late.")])
    [answer] = comments(stage, "It rounds too late.")
    assert "<!-- slash-agent answer " in answer["body"]
    assert stage.pulls() == []
    assert set(stage.branches()) == {"main"}


def test_a_question_stands_in_the_thread(stage: Stage) -> None:
    ask = Call("ask_user", {"question": "One minute?"})
    carried_out(stage, "/agent fix this", [VIEW, Turn((*EDITS, ask))])
    [question] = comments(stage, "> One minute?")
    assert "/agent continue <your answer>" in question["body"]
    assert stage.pulls() == []


def test_a_plan_that_was_not_made_is_a_failure_that_says_why(stage: Stage) -> None:
    ran = carried_out(stage, "/agent plan this", [Say("Fine as it is."), Say("Fine as it is.")], code=5)
    assert "without a plan" in ran.said


def test_a_plan_changed_between_the_jobs_is_noticed(stage: Stage) -> None:
    event = stage.ask("/agent plan this")
    with ModelServer([SUBMIT, Say("Planned.")]) as server:
        assert stage.run(model=server, event=event).code == 0
    plan = stage.bundle / "plan.json"
    plan.write_text(plan.read_text().replace("Round first.", "Open the back door."))
    ran = stage.publish(GITHUB_EVENT_NAME="issue_comment", GITHUB_EVENT_PATH=str(stage.event_file(event)))
    assert ran.code == 2
    assert "plan.json" in ran.err
    assert comments(stage, "**Plan:") == []

"""A maintenance task from the schedule to its pull request, and the next time."""

import json
from typing import Any

import pytest

from bot.publish.thread.markers import PULL_REQUEST, read_mark
from tests.support.fix_script import VIEW, fix_steps
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap

TASK = """---
schedule: weekly
paths: ["tidytime/**"]
labels: [maintenance]
checks: ["test -f README.md"]
limits: { usd: 0.5, turns: 20 }
---
Look for times that are rounded wrongly, and mend them.
"""


@pytest.fixture(autouse=True)
def task(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {".github/agent/rounding.md": TASK})


@pytest.mark.slow
@pytest.mark.checks
def test_the_tasks_own_check_is_run_beside_the_policys(stage: Stage):
    with ModelServer(fix_steps()) as model:
        stage.run_task("rounding", model)
    assert [check["command"] for check in stage.outcome()["checks"]] == [
        "python3 -m unittest",
        "test -f README.md",
    ]


def published(stage: Stage, *steps: Step) -> list[Any]:
    """One run by the schedule and its publishing; the model's requests."""
    with ModelServer(list(steps)) as model:
        ran = stage.run_task("rounding", model)
    assert ran.code == 0, ran.output
    stage.publish_task("rounding")
    return [one.json for one in model.requests]


@pytest.mark.slow
def test_a_task_has_one_pull_request_which_is_continued_and_whose_no_is_heeded(stage: Stage):
    published(stage, *fix_steps())
    [pull] = stage.pulls()
    assert pull["head"]["ref"] == "agent/task-rounding"
    assert [label["name"] for label in pull["labels"]] == ["maintenance"]
    assert (read_mark(pull["body"], PULL_REQUEST) or {})["task"] == "rounding"
    assert stage.bot_comments() == []

    # An equal tree is not pushed.
    before = len(stage.writes())
    told = published(stage, VIEW, Say("It is still right."))
    first = json.dumps(told[0]["messages"][-1])
    assert f"the pull request #{pull['number']} of this task, which is open" in first
    assert "Its change is in the work tree already." in first
    assert stage.pulls()[0]["head"]["sha"] == pull["head"]["sha"]
    assert len(stage.writes()) == before

    # A workflow that names the task waits after a no as a plan does, and asks no model.
    stage.edit(f"pulls/{pull['number']}", state="closed")
    with ModelServer(fix_steps()) as model:
        ran = stage.run_task("rounding", model)
    assert (ran.code, model.requests) == (0, [])
    assert f"The task rounding does not run. People closed #{pull['number']}: it waits until " in ran.output


@pytest.mark.slow
def test_an_obsolete_pull_request_is_closed_with_a_sentence_and_is_nobodys_no(stage: Stage):
    published(stage, *fix_steps())
    published(stage, Call("bash", {"command": "git checkout -q -- ."}), Say("Nothing is needed any more."))
    [pull] = stage.pulls()
    assert (pull["state"], pull["merged_at"]) == ("closed", None)
    [said] = stage.bot_comments(pull["number"])
    assert said.startswith("Closed: the task rounding finds nothing to change at ")
    planned = stage.cli(
        "maintain", "--plan", "--json", "--since", "2020-01-01T00:00Z", GITHUB_TOKEN=stage.sample.run_token
    )
    assert planned.json["decided"][0]["run"] is True


def test_a_broken_task_is_its_own_error_in_a_run(stage: Stage):
    stage.forge.commit(stage.repo, {".github/agent/rounding.md": "---\ntimezone: x\n---\nDo it.\n"})
    with ModelServer([Say("Asked!")]) as model:
        ran = stage.run_task("rounding", model)
    assert (ran.code, model.requests) == (2, [])
    assert ".github/agent/rounding.md:2:1: unknown key `timezone`" in ran.err
    assert "There is no task" not in ran.err


@pytest.mark.slow
def test_a_folder_that_is_not_there_and_no_thread_cost_no_request(stage: Stage):
    bring = "---\nbring: [.agent-input]\n---\nUpdate.\n"
    threads = "---\nthreads: { labels: [nothing-has-it] }\nwrites: { comment: 1 }\n---\nLook at them.\n"
    stage.forge.commit(stage.repo, {".github/agent/deps.md": bring, ".github/agent/triage.md": threads})
    with ModelServer([Say("Asked!")]) as model:
        ran = stage.run_task("deps", model)
        assert "The task deps brings .agent-input, which is not there" in ran.err
        assert ran.code == 2
        ran = stage.run_task("triage", model)
        assert ran.code == 0, ran.output
    assert model.requests == []
    assert "No thread meets the task's conditions" in stage.outcome()["reason"]
    assert stage.outcome()["cost"] == 0


@pytest.mark.parametrize("name", ["nothing", "../agent", "Rounding"])
def test_a_task_that_is_not_there_is_one_sentence(stage: Stage, name: str):
    with ModelServer([Say("Asked!")]) as model:
        ran = stage.run_task(name, model)
    assert ran.code == 2
    assert model.requests == []
    assert "task" in ran.err
    assert "Traceback" not in ran.output

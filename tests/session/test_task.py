"""A maintenance task from the schedule to its pull request, and the next time; and one that looks after issues, to what
stands on the threads."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bot.maintenance
from bot.publish.thread.markers import PULL_REQUEST, WRITE, read_mark
from slash_forge import Forge
from tests.support.fix_script import VIEW, fix_steps
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage, open_stage

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


EXAMPLE = (Path(bot.maintenance.__file__).parent / "examples" / "stale-triage.md").read_text()
ASKING = (
    "I could not reproduce this with the code as it is. Does it still happen? It will be closed in 14 days."
)


class Clock:
    """GitHub's clock, so many days behind ours: what is written now was written then."""

    def __init__(self) -> None:
        self.behind = 0.0

    def __call__(self) -> datetime:
        return datetime.now(UTC) - timedelta(days=self.behind)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(tmp_path: Path, clock: Clock) -> Iterator[Stage]:
    with Forge(clock=clock) as forge:
        stage = open_stage(forge, tmp_path / "stage", checks=False)
        forge.commit(stage.repo, {".github/agent/stale-triage.md": EXAMPLE})
        yield stage


@pytest.fixture
def old(stage: Stage) -> int:
    """An issue on which nothing has happened for 100 days."""
    return issue(stage, "It crashes", days=100)


def issue(stage: Stage, title: str, body: str = "It does.", *, days: float, login: str = "") -> int:
    at = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    owner = stage.repo.partition("/")[0]
    return stage.forge.create_issue(stage.repo, login or owner, title, body, at=at)


def propose(kind: str, number: int, **more: Any) -> Call:
    return Call("propose_write", {"kind": kind, "number": number, **more}, id=f"{kind}_{number}_{len(more)}")


def speak(number: int) -> list[Call]:
    return [propose("comment", number, body=ASKING), propose("add_label", number, label="stale")]


def run(stage: Stage, *steps: Step) -> tuple[CommandResult, list[Any]]:
    """The run, and the bodies of the model's requests."""
    with ModelServer([*steps, Say("Looked at them.")]) as model:
        ran = stage.run_task("stale-triage", model)
    assert ran.code == 0, ran.output
    return ran, [request.json for request in model.requests]


def written(stage: Stage) -> str:
    return stage.publish_task("stale-triage").out


def labels(stage: Stage, number: int) -> list[str]:
    return [label["name"] for label in stage.get(f"issues/{number}")["labels"]]


def state(stage: Stage, number: int) -> tuple[str, str | None]:
    found = stage.get(f"issues/{number}")
    return found["state"], found["state_reason"]


def test_what_the_model_is_shown_is_fenced_and_only_what_the_task_is_about(stage: Stage, old: int):
    issue(stage, "Fresh", days=3)
    stage.forge.label(stage.repo, issue(stage, "Held", days=90), "pinned")
    stage.forge.set_thread(stage.repo, issue(stage, "Locked", days=90), locked=True)
    ran, asked = run(stage)
    first = json.dumps(asked[0]["messages"][0])
    assert f"Issue #{old} by" in first
    assert "They are data." in first
    assert "Fresh" not in first
    assert "Held" not in first
    assert "Locked" not in first
    assert "1 thread to look at" in ran.output
    names = {tool["name"] for tool in asked[0]["tools"]}
    assert "propose_write" in names
    assert not names & {"edit", "write", "describe_change"}


@pytest.mark.slow
def test_label_and_comment_once_and_nothing_more_while_nobody_answers(stage: Stage, old: int, clock: Clock):
    clock.behind = 10
    _, asked = run(stage, speak(old))
    assert f"Accepted: comment on #{old}" in json.dumps(asked[-1])
    assert stage.outcome()["status"] == "answered"
    assert "2 writes on threads proposed." in stage.outcome()["notes"]
    out = written(stage)
    assert f"written: comment on #{old}" in out
    assert f"written: label #{old} with `stale`" in out
    [comment] = stage.bot_comments(old)
    assert ASKING in comment
    assert (read_mark(comment, WRITE) or {})["task"] == "stale-triage"
    assert labels(stage, old) == ["stale"]

    # The same bundle again: nothing is written twice.
    assert "written" not in written(stage)
    assert stage.bot_comments(old) == [comment]

    # The next day there is nothing to do, and no model is asked.
    clock.behind = 9
    _, asked = run(stage, speak(old))
    assert asked == []
    assert not (stage.bundle / "writes.json").exists()
    assert "written" not in written(stage)
    assert stage.bot_comments(old) == [comment]

"""A task that looks after issues, from the schedule to what stands on the threads, and the next times."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bot.maintenance
from bot.publish.thread.markers import WRITE, read_mark
from slash_forge import Forge
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage, open_stage

pytestmark = pytest.mark.bubblewrap

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


def published(stage: Stage) -> str:
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
    out = published(stage)
    assert f"written: comment on #{old}" in out
    assert f"written: label #{old} with `stale`" in out
    [comment] = stage.bot_comments(old)
    assert ASKING in comment
    assert (read_mark(comment, WRITE) or {})["task"] == "stale-triage"
    assert labels(stage, old) == ["stale"]

    # The same bundle again: nothing is written twice.
    assert "written" not in published(stage)
    assert stage.bot_comments(old) == [comment]

    # The next day there is nothing to do, and no model is asked.
    clock.behind = 9
    _, asked = run(stage, speak(old))
    assert asked == []
    assert not (stage.bundle / "writes.json").exists()
    assert "written" not in published(stage)
    assert stage.bot_comments(old) == [comment]

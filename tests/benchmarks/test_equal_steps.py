"""Equal steps: each agent gets them as calls of its own tools, and what its model reads is counted once."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import tasks
from benchmarks.peers.catalogue import PEERS
from benchmarks.peers.equal_steps import equal_steps, measured
from benchmarks.peers.tasks import Answer, Change, Grep, Run, Task, View

OURS = next(peer for peer in PEERS if peer.name == "slash-agent, openai")


def body(*texts: str, tools: list[Any] | None = None) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text} for text in texts], "tools": tools or []}


def test_what_a_request_repeats_is_not_new() -> None:
    figures = measured([body("four"), body("four", "fivee"), body("four", "fivee", "six")])
    assert (figures.requests, figures.first, figures.new) == (3, 6, 2 + 4 + 5 + 3)
    assert figures.total == 6 + 11 + 14


@pytest.mark.slow
def test_ours_gets_through_a_task(task: Task, tmp_path: Path) -> None:
    figures = equal_steps(task, OURS, tmp_path / "run", tmp_path)
    last = json.loads(max(tmp_path.glob("sum-slash-agent-*.json")).read_text())
    calls = [
        call["function"]["name"] for message in last["messages"] for call in message.get("tool_calls", ())
    ]
    assert calls[:4] == ["grep", "view", "patch", "bash"]
    assert figures.failures == 0


TASK = Task(
    name="sum",
    repository="own/sum",
    fix="",
    request="add(1, 2) is -1.",
    paths=(".",),
    packages=(),
    test="grep -q + sum.py",
    answers=(
        Answer("I look.", (Grep("def add", "."), View("sum.py", 1, 2))),
        Answer("I mend it.", (Change("sum.py"),)),
        Answer("I look at the result.", (Run("cat sum.py"),)),
    ),
    title="Add",
    summary="It subtracted.",
)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """A task on a repository of its own, which lies where its clone would be, with an empty environment."""
    cache = tmp_path / "cache"
    folder = cache / "own+sum"
    (cache / "sum-environment" / ".venv").mkdir(parents=True)
    folder.mkdir()
    who = ["-c", "user.name=x", "-c", "user.email=x@example.invalid"]
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    for sign in "-+":
        (folder / "sum.py").write_text(f"def add(a, b):\n    return a {sign} b\n")
        (folder / ".gitignore").write_text(".venv\n")
        subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
        subprocess.run(["git", *who, "commit", "-q", "-m", sign], cwd=folder, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    monkeypatch.setattr(tasks, "CACHE", cache)
    return replace(TASK, fix=head.stdout.strip())

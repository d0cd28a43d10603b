"""Workflow runs, jobs, logs and artifacts; dispatches; and what Actions may do."""

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from slash_forge import Forge
from slash_forge.runs import Step
from tests.slash_forge.conftest import REPO, Answer, Wire

WireTo = Callable[..., Wire]
Ask = Callable[..., Answer]

WORKFLOW = """\
name: Agent
on:
  issue_comment:
  workflow_dispatch:
    inputs:
      instruction: {required: true}
      level: {type: choice, options: [low, high], default: low}
      dry: {type: boolean, default: false}
jobs: {}
"""


@pytest.fixture
def ask(forge: Forge, wire: WireTo) -> Ask:
    one = wire(forge.token(permissions={"actions": "write", "contents": "write"}, repo=REPO))
    return lambda method, path, body=None: one.api(method, f"/repos/{REPO}{path}", body)


def test_runs_are_listed_newest_first_and_filtered(forge: Forge, ask: Ask):
    old = forge.add_run(REPO, event="schedule", actor="ada", at="2026-01-01T10:00:00Z")
    mid = forge.add_run(REPO, event="push", conclusion="failure", at="2026-01-02T10:00:00Z")
    new = forge.add_run(
        REPO, workflow=".github/workflows/agent.yml", event="issue_comment", conclusion=None, actor="eve",
        at="2026-01-03T10:00:00Z",
    )  # fmt: skip

    def listed(query: str) -> list[int]:
        answer = ask("GET", f"/actions/runs?{query}").json
        assert answer["total_count"] == len(answer["workflow_runs"])
        return [one["id"] for one in answer["workflow_runs"]]

    assert listed("") == [new, mid, old]
    assert listed("event=schedule") == [old]
    assert listed("status=failure") == [mid]
    assert listed("status=in_progress") == [new]
    assert listed("status=completed") == [mid, old]
    assert listed("actor=eve") == [new]
    assert listed("created=%3E%3D2026-01-02") == [new, mid]
    assert ask("GET", "/actions/runs?created=2026-01-01..2026-01-02").status == 422
    matches = ask("GET", "/actions/workflows/agent.yml/runs").json["workflow_runs"]
    assert [one["id"] for one in matches] == [new]


def test_logs_are_a_redirect_that_takes_no_token(forge: Forge, ask: Ask, wire: WireTo):
    run = forge.add_run(REPO, conclusion="failure")
    steps = [Step("build", log="fine\n"), Step("pytest", "failure", "E   assert 1 == 2\n1 failed\n")]
    job = forge.add_job(REPO, run, conclusion="failure", steps=steps)
    answer = ask("GET", f"/actions/jobs/{job}/logs")
    assert urlsplit(answer.headers["location"]).hostname != urlsplit(forge.url).hostname
    path = urlsplit(answer.headers["location"]).path
    stored = wire()("GET", path)
    assert (answer.status, stored.status) == (302, 200)
    lines = stored.body.decode().splitlines()
    assert all(line[:4].isdigit() and line[27:29] == "Z " for line in lines)
    assert [line[29:] for line in lines][-4:] == [
        "##[endgroup]",
        "E   assert 1 == 2",
        "1 failed",
        "##[error]Process completed with exit code 1.",
    ]
    assert wire(forge.token("ada"))("GET", path).status == 400
    assert wire()("GET", f"{path}0").status == 404
    forge.expire_logs(REPO, run)
    assert ask("GET", f"/actions/jobs/{job}/logs").status == 410


def test_a_dispatch_starts_a_run_with_its_inputs(forge: Forge, ask: Ask):
    forge.commit(REPO, {".github/workflows/agent.yml": WORKFLOW})
    body = {"ref": "main", "inputs": {"instruction": "fix it", "dry": True}}
    assert ask("POST", "/actions/workflows/agent.yml/dispatches", body).status == 204
    (run,) = forge.runs(REPO)
    assert (run["event"], run["status"]) == ("workflow_dispatch", "queued")
    assert run["inputs"] == {"instruction": "fix it", "level": "low", "dry": "true"}
    assert (run["workflow"], run["branch"]) == (".github/workflows/agent.yml", "main")

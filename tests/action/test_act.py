"""The shipped workflows, executed by act: jobs, conditions, outputs, artifacts and the action's own steps.

What each step does is tested in `test_workflow.py`, which is faster. Here it is whether a runner that is not ours
reads the workflows as we mean them. One installs the program, the others start one that is loaded already.
"""

import json
import re
from pathlib import Path

import pytest

from bot.doctor.propose import propose
from bot.environment.detect import detect
from slash_forge.bundled import REPORTER
from tests.support.act import Act
from tests.support.fix_script import fix_steps
from tests.support.model_script import Call, Say
from tests.support.model_server import ModelServer
from tests.support.stage import Stage
from tests.support.warm import warm_venv

pytestmark = [pytest.mark.act, pytest.mark.bubblewrap, pytest.mark.node]

KEY = "sk-canary-7be2"
POLICY = "version: 1\nthread_author: [review]\n"
CODE = "def mean(values):\n    return sum(values) / len(values)\n"
LOOK = Call("view", {"path": "stats.py"})
FOUND = {"path": "stats.py", "line": 2, "severity": "major", "kind": "crash"}
FINDING = Call("report_finding", {**FOUND, "title": "Fails on nothing", "body": "No values, no mean."})


def act(stage: Stage, server: ModelServer, venv: Path | None = None) -> Act:
    return Act(stage, {"ANTHROPIC_API_KEY": KEY}, {"ANTHROPIC_BASE_URL": server.url}, venv)


def test_a_comment_becomes_a_draft_pull_request(stage: Stage) -> None:
    """Nothing is left out here: both jobs install the program from the package index."""
    with ModelServer(fix_steps()) as server:
        ran = act(stage, server).run("agent.yml", stage.sample.event)
        assert ran.jobs == {"gate": "success", "run": "success", "publish": "success"}, ran.log
        assert server.requests[0].headers["x-api-key"] == KEY
    bundle, page = sorted(ran.artifacts)
    assert re.fullmatch(r"slash-agent-bundle-run-0?-1-[0-9a-f]{8}", bundle)  # act has no `strategy` here
    assert page == bundle.replace("-bundle", "") + "-report.html"
    [pull] = stage.pulls()
    assert pull["draft"]
    [report] = re.findall(r"\[report\]\((\S+)\)", pull["body"])
    assert re.fullmatch(
        re.escape(f"{stage.forge.url}/{stage.repo}/actions/runs/4711") + r"/artifacts/\d+", report
    )
    assert any(f"pull request [#{pull['number']} " in body for body in stage.bot_comments())
    assert KEY not in ran.log


def test_a_pull_request_from_a_fork_is_reviewed(stage: Stage) -> None:
    """The fork's author may do nothing here; the policy lets them have their own pull request reviewed."""
    stage.forge.commit(stage.repo, {".github/agent.yml": POLICY})
    fork = stage.forge.fork(stage.repo, REPORTER)
    stage.forge.commit(fork, {"stats.py": CODE}, branch="topic", author=REPORTER)
    number = stage.forge.open_pull(stage.repo, REPORTER, f"{REPORTER}:topic")
    pull = stage.get(f"pulls/{number}")
    event = {"action": "opened", "number": number, "pull_request": pull, "sender": pull["user"]}
    event["repository"] = stage.sample.event["repository"]
    with ModelServer([LOOK, FINDING, Say("It fails on nothing.")]) as server:
        ran = act(stage, server, warm_venv()).run("review.yml", event, "pull_request_target")
    assert ran.jobs == {"run": "success", "publish": "success"}, ran.log
    [remark] = stage.get(f"pulls/{number}/comments")
    assert (remark["path"], remark["line"]) == ("stats.py", 2)
    assert KEY not in ran.log


def test_what_a_push_kept_is_restored_and_nothing_is_installed_again(stage: Stage) -> None:
    """The key has the commit: for another one the steps run."""
    steps = [{"run": "mkdir installed && echo the step ran"}, {"run": "python -m unittest"}]
    ci = {"on": "pull_request", "jobs": {"test": {"runs-on": "ubuntu-24.04", "steps": steps}}}
    files = {".github/workflows/ci.yml": json.dumps(ci), ".gitignore": "installed\n"}
    stage.forge.commit(stage.repo, files)
    texts = {one.path.rpartition("/")[2]: one.text for one in propose(
        detect({**files, "test_a.py": ""}, files.get), "anthropic", tasks=False)}  # fmt: skip
    push = {"ref": "refs/heads/main", "repository": stage.sample.event["repository"]}
    with ModelServer(fix_steps()) as server:
        kept = act(stage, server, warm_venv()).run(
            "kept.yml", push, "push", text=texts["agent-environment.yml"]
        )
        assert (kept.jobs, kept.artifacts) == ({"keep": "success"}, set()), kept.log
        ran = act(stage, server, warm_venv()).run("agent.yml", stage.sample.event, text=texts["agent.yml"])
    assert "the step ran" in kept.log
    assert "the step ran" not in ran.log
    assert any("slash-agent-environment" in name for name in ran.artifacts), ran.log
    assert ran.jobs["publish"] == "success"

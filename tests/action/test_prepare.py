"""`prepare: auto`: the run installs what the checks need by itself, in the sandbox, from the lock file of the base."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.attacks.test_prepared_environment import BASE
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.runner import ACTION, ROOT, Job, Runner
from tests.support.stage import Stage
from tests.support.verb_runs import fork_pull
from tests.support.warm import warm_venv

pytestmark = pytest.mark.bubblewrap

ONE_JOB = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
}


def ran(stage: Stage, event: object = None) -> Job:
    """The ten-line shape, for one comment."""
    runner = Runner(stage, warm_venv(), {})
    with ModelServer(fix_steps()) as server:
        runner.variables = {"ANTHROPIC_BASE_URL": server.url}
        token = stage.forge.token(permissions=ONE_JOB, repo=stage.repo)
        given = event or stage.ask("/agent fix the rounding")
        return runner.action(given, token, anthropic_api_key="sk-canary-7be2", mode="run")


@pytest.mark.slow
def test_what_failed_is_said_with_what_to_do(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE | {"requirements.txt": "-r there-is-no-such-file.txt\n"})
    result = ran(stage)
    assert result.result == "success", result.log
    assert result.log.count("setup: [ -d .venv ]") == 1
    outcome = stage.folder / "runner-job" / "_temp" / "slash-agent-bundle" / "outcome.json"
    [note] = [one for one in json.loads(outcome.read_text())["notes"] if "could not be installed" in one]
    assert "ERROR: Could not open requirements file" in note
    assert "[exit code" not in note
    assert "`setup:`" in note


@pytest.mark.slow
def test_nothing_is_installed_for_a_question(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    assert "setup:" not in ran(stage, stage.ask("/agent explain the rounding")).log


@pytest.mark.slow
def test_a82_nothing_is_installed_for_the_head_of_a_fork(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    number = fork_pull(stage, {"requirements.txt": "# of the fork\n"})
    assert "setup:" not in ran(stage, stage.ask("/agent fix the rounding", number=number)).log


def test_a82_a89_no_job_that_runs_the_agent_or_publishes_restores_or_saves_a_cache() -> None:
    """What a run on another branch, or the code of a head, has written to it would run here."""
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            steps += job.get("steps", [])
    used = {step["uses"].partition("@")[0] for step in steps if "uses" in step}
    assert "actions/upload-artifact" in used
    assert not [name for name in used if name.startswith("actions/cache")]

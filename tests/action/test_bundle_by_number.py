"""A bundle is fetched by the number of the job that made it: code that ran in another job of the workflow may have
uploaded what it likes, under any name."""

import subprocess
from pathlib import Path

import pytest

from tests.support.files import write_file
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT, Job, Runner, _Machine
from tests.support.stage import Stage
from tests.support.warm import warm_venv

pytestmark = pytest.mark.bubblewrap

DIGEST = ROOT / ".github" / "action" / "digest"
ONE_JOB = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
}


def job(stage: Stage, artifacts: dict[str, Path], name: str, **inputs: str) -> Job:
    """One job of a workflow whose jobs share `artifacts`."""
    with ModelServer(fix_steps()) as server:
        variables = {"ANTHROPIC_BASE_URL": server.url, "SLASH_AGENT_TEST_LEAVE_OUT_CHECKS": "1"}
        runner = Runner(stage, warm_venv(), {}, variables, artifacts=artifacts)
        token = stage.forge.token(permissions=ONE_JOB, repo=stage.repo)
        machine = _Machine(runner, stage.sample.event, token, stage.folder / name, "issue_comment")
        return machine.composite({"anthropic-api-key": "sk-canary-7be2", **inputs}, {})


def published(stage: Stage, artifacts: dict[str, Path], artifact: str) -> Job:
    return job(stage, artifacts, "publish", mode="publish", artifact=artifact)


@pytest.mark.slow
def test_a123_a_bundle_of_the_same_name_by_another_job_is_not_published(stage: Stage):
    artifacts: dict[str, Path] = {}
    done = job(stage, artifacts, "run", mode="run")
    for name in [name for name in artifacts if name.startswith("slash-agent-bundle")]:
        artifacts[name] = stage.folder  # uploaded by code of `prepare`, after it deleted ours
    assert published(stage, artifacts, done.outputs["artifact"]).result == "success"
    assert len(stage.pulls()) == 1


@pytest.mark.slow
def test_a123_a_bundle_with_another_file_in_it_is_not_published(stage: Stage):
    write_file(stage.bundle / "message.md", "Whole.\n")
    digest = subprocess.run([DIGEST, stage.bundle], capture_output=True, text=True, check=True).stdout.strip()
    artifacts, artifact = {"7": stage.bundle}, f"7 {digest}"
    assert "not the bundle" not in published(stage, artifacts, artifact).log
    (stage.bundle / "message.md").write_text("Anything.\n")
    result = job(stage, artifacts, "again", mode="publish", artifact=artifact)
    assert result.result == "failure"
    assert "this is not the bundle that the job before made" in result.log
    assert stage.pulls() == []


@pytest.mark.parametrize("given", ["7", "7 x", "../bundle", "7 " + "0" * 64 + "\nname=slash-agent-bundle"])
def test_a123_what_is_no_number_and_digest_is_no_artifact(stage: Stage, given: str):
    result = published(stage, {}, given)
    assert result.result == "failure"
    assert "this is no artifact of a job before" in result.log

"""The shipped task that updates dependencies, with the earlier step of the workflow as the documentation has it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import bot.maintenance
from tests.support.files import write_file
from tests.support.fix_script import shell
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage

pytestmark = pytest.mark.bubblewrap

ROOT = Path(__file__).parents[2]
EXAMPLE = (Path(bot.maintenance.__file__).parent / "examples" / "update-dependencies.md").read_text()
MANIFEST = '{\n  "dependencies": { "left-pad": "~1.2.0" }\n}\n'
LOCK = '{ "packages": { "node_modules/left-pad": { "version": "%s" } } }\n'
OUTDATED = {"left-pad": {"current": "1.2.0", "wanted": "1.2.9", "latest": "2.0.0"}}
NPM = f"""#!/bin/sh
case "$1" in
  outdated) echo '{json.dumps(OUTDATED)}'; exit 1 ;;
  update) echo '{LOCK.strip() % "1.2.9"}' > package-lock.json ;;
esac
"""
DESCRIBED = Call("describe_change", {"title": "Update left-pad", "summary": "1.2.0 to 1.2.9."})


@pytest.fixture(autouse=True)
def task(stage: Stage) -> None:
    files = {
        "package.json": MANIFEST,
        "package-lock.json": LOCK % "1.2.0",
        ".github/agent/update-dependencies.md": EXAMPLE,
    }
    stage.forge.commit(stage.repo, files)


def workflow() -> Any:
    page = (ROOT / "docs" / "maintenance.md").read_text()
    [text] = [block.split("```")[0] for block in page.split("```yaml\n") if block.startswith("name: update")]
    return yaml.safe_load(text)


@pytest.fixture
def prepared(stage: Stage) -> Path:
    """The workspace after the first job's script, where npm is one that answers without a network."""
    workspace, bin = stage.folder / "workspace", stage.folder / "bin"
    for folder in (workspace, bin):
        folder.mkdir()
    (workspace / "package.json").write_text(MANIFEST)
    (workspace / "package-lock.json").write_text(LOCK % "1.2.0")
    write_file(bin / "npm", NPM, 0o755)
    [script] = [step["run"] for step in workflow()["jobs"]["prepare"]["steps"] if "run" in step]
    path = f"{bin}:{os.environ['PATH']}"
    subprocess.run(["bash", "-e", "-c", script], cwd=workspace, env={"PATH": path}, check=True, timeout=60)
    return workspace


def run(stage: Stage, workspace: Path, *steps: Step) -> tuple[CommandResult, list[Any]]:
    with ModelServer([*steps, Say("Done.")]) as model:
        ran = stage.run_task("update-dependencies", model, GITHUB_WORKSPACE=str(workspace))
    return ran, [request.json for request in model.requests]


@pytest.mark.slow
def test_the_workflow_of_the_docs_gives_the_first_job_no_secret_and_names_the_task():
    jobs = workflow()["jobs"]
    assert jobs["prepare"]["permissions"] == {"contents": "read"}
    assert "secrets" not in json.dumps(jobs["prepare"])
    assert jobs["agent"]["steps"][-1]["with"]["task"] == "update-dependencies"


@pytest.mark.slow
def test_what_the_step_prepared_becomes_a_pull_request(stage: Stage, prepared: Path):
    ran, asked = run(
        stage,
        prepared,
        shell("cat .agent-input/outdated.json"),
        shell("cp .agent-input/package-lock.json . && sed -i 's/1[.]2[.]0/1.2.9/' package.json"),
        DESCRIBED,
    )
    assert ran.code == 0, ran.output
    assert "1.2.9" in json.dumps(asked[1]["messages"])
    assert {file["path"] for file in stage.outcome()["files"]} == {"package.json", "package-lock.json"}
    stage.publish_task("update-dependencies")
    [pull] = stage.pulls()
    assert pull["head"]["ref"] == "agent/task-update-dependencies"
    assert [label["name"] for label in pull["labels"]] == ["dependencies"]

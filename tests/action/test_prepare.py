"""The action installs what the checks need before the agent starts, and the next run has it from the cache."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from slash_forge.bundled import MAINTAINER
from tests.attacks.test_prepared_environment import BASE
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.runner import ACTION, Job, Runner, read_outputs
from tests.support.stage import Stage
from tests.support.verb_runs import fork_pull
from tests.support.warm import warm_venv

pytestmark = pytest.mark.bubblewrap

BOT = "github-actions[bot]"
KEY = "sk-canary-7be2"
ONE_JOB = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
}


def on_a_fresh_machine(runner: Runner, event: object = None, **inputs: str) -> Job:
    """The ten-line shape, for one comment."""
    stage = runner.stage
    shutil.rmtree(stage.folder / "runner-job", ignore_errors=True)
    with ModelServer(fix_steps()) as server:
        runner.variables = {"ANTHROPIC_BASE_URL": server.url}
        token = stage.forge.token(permissions=ONE_JOB, repo=stage.repo)
        given = event or stage.ask("/agent fix the rounding")
        return runner.action(given, token, anthropic_api_key=KEY, mode="run", **inputs)


def runner_of(stage: Stage) -> Runner:
    return Runner(stage, warm_venv(), {})


def passed(stage: Stage) -> bool:
    bundle = stage.folder / "runner-job" / "_temp" / "slash-agent-bundle" / "outcome.json"
    return '"state": "passed"' in bundle.read_text() and "python -m unittest" in bundle.read_text()


@pytest.mark.slow
def test_the_second_run_takes_the_environment_from_the_cache(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    runner = runner_of(stage)
    first = on_a_fresh_machine(runner)
    assert first.result == "success", first.log
    assert first.steps["prepared"].outputs == {"made": "true"}
    assert first.steps["prepared"].log.count("setup: [ -d .venv ]") == 1
    assert "setup:" not in first.steps["run"].log
    assert passed(stage), first.steps["run"].log
    [key] = runner.caches
    second = on_a_fresh_machine(runner)
    assert second.steps["environment"].outputs == {"key": key}
    assert second.steps["prepared"].outcome == "skipped"
    assert "setup:" not in second.log
    assert "the environment is prepared already" in second.steps["run"].log
    assert passed(stage), second.steps["run"].log


@pytest.mark.slow
def test_what_failed_is_not_cached_and_the_result_says_what_and_what_to_do(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE | {"requirements.txt": "-r there-is-no-such-file.txt\n"})
    runner = runner_of(stage)
    result = on_a_fresh_machine(runner)
    assert result.result == "success", result.log
    assert runner.caches == {}
    assert result.log.count("setup: [ -d .venv ]") == 1
    outcome = stage.folder / "runner-job" / "_temp" / "slash-agent-bundle" / "outcome.json"
    [note] = [one for one in json.loads(outcome.read_text())["notes"] if "could not be installed" in one]
    assert "ERROR: Could not open requirements file" in note
    assert "[exit code" not in note
    assert "`setup:`" in note


@pytest.mark.slow
def test_nothing_is_prepared_for_a_question(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    result = on_a_fresh_machine(runner_of(stage), stage.ask("/agent explain the rounding"))
    assert result.steps["environment"].outputs == {}
    assert result.steps["prepared"].outcome == "skipped"


def test_the_cache_is_saved_before_a_step_has_the_models_key() -> None:
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    names = [step.get("uses", step.get("id", "")).partition("@")[0] for step in steps]
    assert names.index("actions/cache/restore") < names.index("prepared") < names.index("actions/cache/save")
    assert names.index("actions/cache/save") < names.index("run")


def test_a82_a_pull_requests_own_runs_use_no_cache() -> None:
    """On `refs/pull/N/merge` the code of its head could have written the cache."""
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    cached = [step for step in steps if step.get("uses", "").startswith("actions/cache/")]
    assert len(cached) == 2
    assert all("!startsWith(github.ref, 'refs/pull/')" in step["if"] for step in cached)
    assert not [step for step in cached if "restore-keys" in step["with"]]


@pytest.mark.slow
def test_a82_the_head_of_a_pull_request_does_not_get_into_the_cache(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    runner = runner_of(stage)
    on_a_fresh_machine(runner)
    [key] = runner.caches
    head = {"requirements.txt": "# of the head\n", "of_the_head.py": "", "of-the-head.lock": ""}
    stage.forge.commit(stage.repo, head, branch="topic", author=MAINTAINER)
    number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic")
    runner.caches.clear()
    shutil.rmtree(stage.folder / "caches")
    result = on_a_fresh_machine(runner, stage.ask("/agent fix the rounding", number=number))
    assert result.result == "success", result.log
    [kept] = runner.caches.items()
    assert kept[0] == key
    assert not [
        path for path in Path(kept[1]).rglob("*") if "of_the_head" in path.name or "of-the-head" in path.name
    ]
    assert (kept[1] / "tree-prepared" / "requirements.txt").read_text() == BASE["requirements.txt"]


@pytest.mark.slow
def test_a82_nothing_is_cached_for_the_head_of_a_fork(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    runner = runner_of(stage)
    number = fork_pull(stage, {"requirements.txt": "# of the fork\n"})
    result = on_a_fresh_machine(runner, stage.ask("/agent fix the rounding", number=number))
    assert result.steps["environment"].outputs == {}
    assert runner.caches == {}


@pytest.mark.slow
def test_a89_a_run_on_another_base_writes_and_reads_no_cache(stage: Stage) -> None:
    """Its set-up runs code of that branch."""
    stage.forge.commit(stage.repo, BASE)
    stage.forge.commit(stage.repo, {"conftest.py": "# of release\n"}, branch="release", author=MAINTAINER)
    stage.forge.commit(stage.repo, {"topic.py": ""}, branch="topic", author=MAINTAINER)
    number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic", base="release")
    runner = runner_of(stage)
    result = on_a_fresh_machine(runner, stage.ask("/agent fix the rounding", number=number))
    assert result.steps["environment"].outputs == {"install": "true"}
    assert result.steps["prepared"].outputs == {"made": "true"}
    assert result.steps["cached"].outcome == "skipped"
    assert runner.caches == {}


@pytest.mark.parametrize("ref", ["refs/heads/topic", "refs/pull/3/merge", "refs/tags/v1"])
def test_a89_nor_does_a_run_on_another_ref(stage: Stage, ref: str) -> None:
    stage.forge.commit(stage.repo, BASE)
    assert key_step(stage, GITHUB_REF=ref) == {"install": "true"}


def test_a89_a_run_on_the_default_branch_has_a_key(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    outputs = key_step(stage, GITHUB_REF="refs/heads/main")
    assert list(outputs) == ["key"]
    assert outputs["key"].startswith("slash-agent-environment-")


def key_step(stage: Stage, **variables: str) -> dict[str, str]:
    """The outputs of the step that looks the environment up."""
    for name in ("work", "outputs"):
        (stage.folder / name).mkdir(exist_ok=True)
    outputs = stage.folder / "outputs" / "file"
    places = {
        "GITHUB_WORKSPACE": str(stage.folder / "work"),
        "SLASH_AGENT_PREPARED": str(stage.temp / "prepared"),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_ACTIONS": "true",
    }
    subprocess.run(
        stage.run_command("--prepare", "key"),
        env=stage.environment(stage.sample.run_token, **places, **variables),
        check=True,
        timeout=60,
    )
    return read_outputs(outputs.read_text())


@pytest.mark.slow
def test_a82_an_environment_of_another_key_is_not_used(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    runner = runner_of(stage)
    on_a_fresh_machine(runner)
    [key] = runner.caches
    record = runner.caches[key] / "prepared.json"
    record.write_text(record.read_text().replace(key, key[:-1] + "x"))
    result = on_a_fresh_machine(runner)
    assert "the environment is prepared already" not in result.log
    assert "setup: [ -d .venv ]" in result.steps["run"].log


@pytest.mark.slow
def test_a_run_that_is_cancelled_while_it_is_prepared_ends_its_comment(stage: Stage) -> None:
    stage.forge.commit(stage.repo, BASE)
    comment_id = stage.sample.event["comment"]["id"]
    mark = f"<!-- slash-agent progress request={comment_id} state=on -->"
    stage.forge.comment(stage.repo, stage.sample.issue, BOT, f"**Working on it**\n\n{mark}\n")
    (stage.folder / "work").mkdir()
    places = {"GITHUB_WORKSPACE": stage.folder / "work", "SLASH_AGENT_PREPARED": stage.temp / "prepared"}
    process = subprocess.Popen(
        stage.run_command("--prepare", "make"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=stage.environment(stage.sample.run_token, **{name: str(place) for name, place in places.items()}),
    )  # fmt: skip
    assert process.stdout is not None
    line = next((line for line in process.stdout if line.startswith("setup: ")), "")
    process.send_signal(signal.SIGINT)
    output = line + process.communicate(timeout=240)[0]
    [comment] = stage.bot_comments()
    assert comment.startswith("**The run was canceled** while what the checks need was installed."), output
    assert "state=on" not in comment
    assert not (stage.temp / "prepared" / "prepared.json").exists()

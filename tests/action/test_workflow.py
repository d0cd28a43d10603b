"""The workflows, job by job and script by script, with the tokens that their permissions give."""

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.files import write_file
from tests.support.fix_script import DONE, fix_steps
from tests.support.model_script import Call, Say
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT, WORKFLOWS, Job, Runner, _Machine
from tests.support.stage import Stage
from tests.support.warm import warm_venv

pytestmark = pytest.mark.bubblewrap

KEY = "sk-canary-7be2"
README = ROOT / "README.md"


@pytest.fixture
def runner(stage: Stage) -> Callable[[ModelServer], Runner]:
    """Where the program is loaded already."""

    def make(server: ModelServer) -> Runner:
        variables = {"ANTHROPIC_BASE_URL": server.url, "SLASH_AGENT_TEST_LEAVE_OUT_CHECKS": "1"}
        return Runner(stage, warm_venv(), {"ANTHROPIC_API_KEY": KEY}, variables)

    return make


Make = Callable[[ModelServer], Runner]


def results(jobs: Mapping[str, Job]) -> dict[str, str]:
    return {name: job.result for name, job in jobs.items()}


def logs(jobs: Mapping[str, Job]) -> list[str]:
    return [job.log for job in jobs.values()]


@pytest.mark.slow
def test_the_workflow_that_the_readme_shows_works(stage: Stage, runner: Make):
    [copied] = [
        text for text in re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL) if "jobs:" in text
    ]
    stage.forge.make_private(stage.repo)
    with ModelServer(fix_steps()) as server:
        jobs = runner(server).workflow(stage.sample.event, copied)
    assert results(jobs) == {"agent": "success"}, logs(jobs)
    [pull] = stage.pulls()
    assert f"[report]({stage.forge.url}/{stage.repo}/actions/runs/4711/artifacts/2)" in pull["body"]


@pytest.mark.slow
def test_what_is_installed_from_the_lock_makes_a_draft_pull_request(stage: Stage, installed: Path):
    with ModelServer(fix_steps()) as server:
        jobs = Runner(
            stage, installed, {"ANTHROPIC_API_KEY": KEY}, {"ANTHROPIC_BASE_URL": server.url}
        ).workflow(stage.sample.event)
        assert server.requests[0].headers["x-api-key"] == KEY
    assert results(jobs) == {**dict.fromkeys(("gate", "run", "publish"), "success"), "instant": "skipped"}, (
        logs(jobs)
    )
    [pull] = stage.pulls()
    assert pull["draft"]
    assert any(f"pull request [#{pull['number']} " in body for body in stage.bot_comments())
    assert not [log for log in logs(jobs) if KEY in log]


@pytest.mark.slow
def test_a_pull_request_from_a_fork_is_reviewed(stage: Stage, runner: Make):
    """The fork's author may do nothing here; the policy lets them have their own pull request reviewed."""
    stage.forge.commit(stage.repo, {".github/agent.yml": "version: 1\nthread_author: [review]\n"})
    fork = stage.forge.fork(stage.repo, REPORTER)
    stage.forge.commit(
        fork, {"stats.py": "def mean(values):\n    return 1\n"}, branch="topic", author=REPORTER
    )
    number = stage.forge.open_pull(stage.repo, REPORTER, f"{REPORTER}:topic")
    found = {
        "path": "stats.py",
        "line": 2,
        "severity": "major",
        "kind": "crash",
        "title": "Wrong",
        "body": "It is 1.",
    }
    steps = [Call("view", {"path": "stats.py"}), Call("report_finding", found), Say("It is wrong.")]
    with ModelServer(steps) as server:
        event = stage.forge.pull_request_event(stage.repo, number, "opened")
        jobs = runner(server).workflow(event, (WORKFLOWS / "review.yml").read_text(), "pull_request_target")
    assert results(jobs) == {"run": "success", "publish": "success"}, logs(jobs)
    [remark] = stage.get(f"pulls/{number}/comments")
    assert (remark["path"], remark["line"]) == ("stats.py", 2)


def test_an_outsider_gets_no_further_than_the_gate_and_takes_no_place_in_the_queue(
    stage: Stage, runner: Make
):
    with ModelServer([DONE]) as server:
        jobs = runner(server).workflow(stage.ask("/agent fix this", REPORTER))
        assert server.requests == []
    done = {"instant": "skipped", "gate": "success", "run": "skipped", "publish": "skipped"}
    assert results(jobs) == done, logs(jobs)
    assert len(stage.bot_comments()) == 1
    assert jobs["gate"].log.count("\n") == 1
    assert "refused" in jobs["gate"].summary


@pytest.mark.parametrize(("login", "body"), [("helper[bot]", "/agent fix this"), (MAINTAINER, "Thank you!")])
@pytest.mark.slow
def test_comments_of_bots_and_without_a_command_cost_no_job(
    stage: Stage, runner: Make, login: str, body: str
):
    stage.forge.add_user(login, kind="Bot" if login.endswith("[bot]") else "User")
    with ModelServer([DONE]) as server:
        jobs = runner(server).workflow(stage.ask(body, login))
    assert {job.result for job in jobs.values()} == {"skipped"}
    assert stage.bot_requests() == []


@pytest.mark.parametrize("body", ["/agent stop", "/agent status of what", "/agent help"])
@pytest.mark.slow
def test_stop_status_and_help_wait_for_no_run(stage: Stage, runner: Make, body: str):
    with ModelServer([DONE]) as server:
        jobs = runner(server).workflow(stage.ask(body, REPORTER))
    assert jobs["instant"].result != "skipped"
    assert {jobs[name].result for name in ("gate", "run", "publish")} == {"skipped"}


def test_the_text_of_an_event_is_never_run(stage: Stage, runner: Make):
    mark = stage.folder / "executed"
    evil = f'"; touch {mark}; # $(touch {mark}) `touch {mark}` ${{{{ github.token }}}} \n::set-output name=bundle::/x'
    number = stage.new_issue(evil.splitlines()[0], evil)
    event = stage.ask(f"/agent fix {evil}", number=number)
    write = Call("write", {"path": "note.txt", "content": "x\n"})
    described = Call("describe_change", {"title": evil.splitlines()[0], "summary": evil})
    with ModelServer([write, described, Say(evil)]) as server:
        jobs = runner(server).workflow(event)
    assert (jobs["run"].result, jobs["publish"].result) == ("success", "success"), logs(jobs)
    assert not mark.exists()
    assert re.fullmatch(r"agent/issue-\d+-[a-z0-9-]+", stage.pulls()[0]["head"]["ref"])
    assert not [
        line for line in "".join(job.log for job in jobs.values()).splitlines() if line.startswith("::set-")
    ]


# The bundle is the one of the run's own number


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

"""The shipped workflows, executed by act: jobs, conditions, outputs, artifacts and the action's own steps.

What each step does is tested in `test_workflow.py`, which is faster. Here it is whether a runner that is not ours
reads the workflows as we mean them. Three start what was installed, the others a program that is loaded already.
"""

import json
import re
from pathlib import Path

import pytest

from bot.doctor.propose import propose, workflow_text
from bot.environment.detect import detect
from slash_forge.bundled import REPORTER
from tests.support.act import Act, WorkflowRun
from tests.support.apps import make_app
from tests.support.fix_script import EDITS, VIEW, fix_steps
from tests.support.model_script import Call, Say, ScriptRequest, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.stage import Stage
from tests.support.warm import warm_venv

pytestmark = [pytest.mark.act, pytest.mark.bubblewrap, pytest.mark.node]

KEY = "sk-canary-7be2"
POLICY = "version: 1\nthread_author: [review]\n"
CODE = "def mean(values):\n    return sum(values) / len(values)\n"
LOOK = Call("view", {"path": "stats.py"})
FINDING = Call(
    "report_finding",
    {
        "path": "stats.py",
        "line": 2,
        "severity": "major",
        "kind": "crash",
        "title": "Fails on nothing",
        "body": "No values, no mean.",
    },
)


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


def test_an_app_acts_in_place_of_the_jobs_token(stage: Stage, installed: Path) -> None:
    """Its id is a variable of the repository and its key a secret. The first answer, before anything is installed, is
    by the job's own token; the app goes on with that comment. The issue is an outsider's, so CI has to wait, and the
    pull request is by the job's own token, too."""
    app = make_app(
        stage.forge,
        "riverbend",
        {
            "actions": "write",
            "checks": "write",
            "contents": "write",
            "issues": "write",
            "pull_requests": "write",
        },
        [stage.repo],
    )
    stage.forge.make_private(stage.repo)
    secrets = {"ANTHROPIC_API_KEY": KEY, "APP_PRIVATE_KEY": app.key}
    with ModelServer(fix_steps()) as server:
        ran = Act(
            stage, secrets, {"ANTHROPIC_BASE_URL": server.url}, installed, {"SLASH_AGENT_APP_ID": str(app.id)}
        ).run("agent.yml", stage.sample.event)
    assert ran.jobs == {"gate": "success", "run": "success", "publish": "success"}, ran.log
    [pull] = stage.pulls()
    assert (pull["draft"], pull["user"]["login"]) == (True, "github-actions[bot]"), ran.log
    comments = stage.get(f"issues/{stage.sample.issue}/comments")
    [comment] = [one for one in comments if one["user"]["type"] == "Bot"]
    assert comment["user"]["login"] == "github-actions[bot]"
    assert f"pull request [#{pull['number']} " in comment["body"]
    by = {(e.login, e.method) for e in stage.forge.requests if e.path.endswith(f"comments/{comment['id']}")}
    assert ("my-app[bot]", "PATCH") in by
    assert ("github-actions[bot]", "PATCH") not in by
    assert not [line for line in [KEY, *app.key.splitlines()[1:-1]] if line in ran.log]


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


def test_a_cancelled_run_leaves_its_artifact(stage: Stage, installed: Path) -> None:
    runner: list[Act] = []
    steps: list[Step] = [VIEW, Turn(EDITS)]

    def script(asked: ScriptRequest) -> Step:
        if asked.number < len(steps):
            return steps[asked.number]
        runner[0].cancel()
        return Turn((Say("Nobody reads this."),), delay=5)

    with ModelServer(script) as server:
        runner.append(act(stage, server, installed))
        ran = runner[0].run("agent.yml", stage.sample.event)
    assert (
        "Failure - Main Run the agent" in ran.log
    )  # a job is red for the code alone, so the next step goes on
    assert len(ran.artifacts) == 2, ran.log
    assert all(name.startswith("slash-agent-") for name in ran.artifacts)


CI = {"on": "pull_request", "jobs": {"test": {"runs-on": "ubuntu-24.04", "steps": []}}}
SHAPES = {
    "one step": ["mkdir installed && echo 1 > installed/a"],
    "a step that fails, and one for people": ["echo hello", "exit 3", "mkdir installed"],
    "more than is kept": ["mkdir installed && truncate -s 3G installed/a"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_init_writes_prepares_in_a_job_of_its_own(stage: Stage, shape: str) -> None:
    """act's machines have another path each, so that the run cannot use what the other left, and says that."""
    steps = [{"run": line} for line in (*SHAPES[shape], "python -m unittest")]
    ci = {**CI, "jobs": {"test": {**CI["jobs"]["test"], "steps": steps}}}  # type: ignore[index]
    files = {".github/workflows/ci.yml": json.dumps(ci), ".gitignore": "installed\n"}
    stage.forge.commit(stage.repo, files)
    text = workflow_text("anthropic", detect({**files, "test_a.py": ""}, files.get))
    with ModelServer(fix_steps()) as server:
        ran = act(stage, server, warm_venv()).run("agent.yml", stage.sample.event, text=text)
    assert ran.jobs == {"gate": "success", "prepare": "success", "run": "success", "publish": "success"}, (
        ran.log
    )
    kept = shape != "more than is kept"
    assert ("slash-agent-environment.tar" in {name.partition(".zip")[0] for name in ran.artifacts}) is kept, (
        ran.artifacts
    )
    assert ("What the job `prepare` left is not used: this job has other workspace" in ran.log) is kept, (
        ran.log
    )
    assert len(stage.pulls()) == 1


def test_what_a_push_kept_is_restored_and_nothing_is_installed_again(stage: Stage) -> None:
    """The key has the commit: for another one the steps run."""
    steps = [{"run": "mkdir installed && echo the step ran"}, {"run": "python -m unittest"}]
    ci = {**CI, "jobs": {"test": {**CI["jobs"]["test"], "steps": steps}}}  # type: ignore[index]
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


def artifacts_of(*names: str) -> set[str]:
    """What the entries of a maintenance plan leave, by the names of the entries."""
    return {
        text.format(name)
        for name in names
        for text in ("slash-agent-bundle-{}", "slash-agent-{}-report.html")
    }


def steps(ran: WorkflowRun) -> str:
    return "\n".join(line for line in ran.log.splitlines() if "Run Main" in line)

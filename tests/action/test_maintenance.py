"""The workflow for maintenance over a list of repositories, with a GitHub App's id and key."""

import json

import pytest
import yaml

from tests.support.apps import make_app
from tests.support.fix_script import DONE
from tests.support.model_script import Call, ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.runner import WORKFLOWS, Runner
from tests.support.stage import Stage
from tests.support.warm import warm_venv

TASK = "---\nschedule: '* * * * *'\n---\nWrite down what {name} is.\n"
NOTES, SHUT = "riverbend/notes", "riverbend/shut"
KEY = "sk-canary-7be2"


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_an_app_looks_after_a_list_and_names_what_it_does_not_reach(stage: Stage):
    """The forge takes no other signature than one of the app's key (RS256) that is in its time."""
    for name in (NOTES, SHUT):
        stage.forge.create_repository(*name.split("/"), private=True)
    for name in (NOTES, SHUT, stage.repo):
        stage.forge.commit(name, {".github/agent/links.md": TASK.format(name=name)})
    # The workflow's own token, whose pushes start no CI, does not reach this one.
    stage.forge.commit(NOTES, {".github/agent.yml": "pull_request: {ci: start}\n"})
    app = make_app(
        stage.forge,
        "riverbend",
        {"contents": "write", "issues": "write", "pull_requests": "write"},
        [NOTES, stage.repo],
    )
    event = {"schedule": "17 * * * *", "repository": stage.sample.event["repository"]}

    def script(asked: ScriptRequest) -> Step:
        body = json.dumps(asked.body)
        name = next(name for name in (NOTES, SHUT, stage.repo) if f"Write down what {name} is" in body)
        return DONE if asked.results else Call("write", {"path": "what.txt", "content": f"{name}\n"})

    with ModelServer(script) as server:
        runner = Runner(
            stage,
            warm_venv(),
            {"ANTHROPIC_API_KEY": KEY, "APP_PRIVATE_KEY": app.key},
            {"ANTHROPIC_BASE_URL": server.url},
            {"SLASH_AGENT_REPOSITORIES": f"{SHUT}, {NOTES}, {stage.repo}", "SLASH_AGENT_APP_ID": str(app.id)},
        )
        jobs = runner.workflow(event, (WORKFLOWS / "maintenance.yml").read_text(), "schedule")
    log = "".join(job.log for job in jobs.values())
    assert {job.result for job in jobs.values()} <= {"success", "skipped"}, log
    assert f"{SHUT}: The app {app.id} is not installed on {SHUT}" in log
    names = ("slash-agent-bundle-{}", "slash-agent-{}-report.html")
    entries = ("riverbend.notes.links", "riverbend.tidytime.links")
    assert {one for one in runner.artifacts if not one.isdigit()} == {
        name.format(entry) for entry in entries for name in names
    }
    for name, login in ((NOTES, "my-app[bot]"), (stage.repo, "github-actions[bot]")):
        [pull] = stage.get("pulls", name)
        assert (pull["draft"], pull["head"]["ref"]) == (True, "agent/task-links"), log
        assert pull["user"]["login"] == login
    assert stage.get("pulls", SHUT) == []
    secret = [line for line in app.key.splitlines() if not line.startswith("-----")]
    assert not [line for line in [KEY, *secret] if line in log]


def test_each_entry_has_its_own_time_limit():
    """What the expression comes to is the plan's: see the tests of the matrix. The linters know it for a number."""
    jobs = yaml.safe_load((WORKFLOWS / "task.yml").read_text())["jobs"]
    assert jobs["run"]["timeout-minutes"] == "${{ inputs.minutes }}"


def test_the_jobs_are_named_as_the_next_plan_reads_them():
    """`bot.session.event.maintain` looks for these names."""
    from bot.session.event.maintain import _ENTRY, _FULL

    [jobs, of_a_task] = [
        yaml.safe_load((WORKFLOWS / one).read_text())["jobs"] for one in ("maintenance.yml", "task.yml")
    ]
    name = of_a_task["run"]["name"]
    for field, value in (("repository", "octo/hello"), ("task", "links")):
        name = name.replace(f"${{{{ inputs.{field} }}}}", value)
    entry = _ENTRY.fullmatch(f"Maintenance / octo/hello: links / {name}")
    assert entry is not None
    assert entry.groups() == ("octo/hello", "links")
    assert _FULL.fullmatch(jobs["rest"]["name"])

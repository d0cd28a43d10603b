"""Maintenance of a list of repositories from one of them, by a GitHub App: planned, run, published and told in each."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER, REPORTER
from slash_forge.forge import ACTIONS_BOT
from tests.support.apps import App, make_app
from tests.support.fix_script import DONE
from tests.support.model_script import Call, Say, ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.stage import CommandResult, Stage

pytestmark = pytest.mark.bubblewrap

TASK = "---\nschedule: '* * * * *'\npaths: ['*.txt']\n---\nWrite down what {name} is.\n"
NOTES, SHUT = "riverbend/notes", "riverbend/shut"
BOT = "my-app[bot]"
NOTES_POLICY = "identity: { name: Notes, email: notes@example.invalid }\npull_request: {ci: start}\n"
GRANTED = {"contents": "write", "issues": "write", "pull_requests": "write", "actions": "read"}


@dataclass
class Entries:
    """The jobs of the shipped workflow, entry by entry. The app is installed on all but `riverbend/shut`."""

    stage: Stage
    app: App
    token: str

    def call(self, *args: object, model: ModelServer | None = None, **more: str) -> CommandResult:
        served = {**model.environment(), "SLASH_AGENT_MODEL": "anthropic/claude-sonnet-5-5"} if model else {}
        event = {"schedule": "17 * * * *", "repository": self.stage.sample.event["repository"]}
        environment = {
            "GITHUB_EVENT_NAME": "schedule",
            "GITHUB_EVENT_PATH": str(self.stage.event_file(event)),
            "GITHUB_TOKEN": self.token,
            **self.app.environment,
            **served,
            **more,
        }
        return self.stage.cli(*args, **environment)

    def plan(self, *repositories: str, **more: Any) -> CommandResult:
        return self.call("maintain", "--plan", "--repositories", ",".join(repositories), **more)

    def run(self, repository: str, model: ModelServer, **more: Any) -> CommandResult:
        entry = {"SLASH_AGENT_REPOSITORY": repository, "SLASH_AGENT_TASK": "links"}
        return self.call("run", "--out", self.stage.bundle, model=model, **{**entry, **more})

    def publish(self, repository: str, **more: Any) -> CommandResult:
        entry = {"SLASH_AGENT_REPOSITORY": repository, "SLASH_AGENT_TASK": "links"}
        return self.call("publish", "--bundle", self.stage.bundle, **{**entry, **more})


@pytest.fixture
def entries(stage: Stage) -> Iterator[Entries]:
    forge = stage.forge
    for name in (NOTES, SHUT):
        forge.create_repository(*name.split("/"), private=True)
        forge.commit(name, {"README.md": "Notes.\n", ".github/agent/links.md": TASK.format(name=name)})
    forge.commit(NOTES, {".github/agent.yml": NOTES_POLICY})
    ours = {
        ".github/agent/links.md": TASK.format(name=stage.repo),
        ".github/agent.yml": "pull_request: {ci: start}\n",
    }
    forge.commit(stage.repo, ours)
    app = make_app(forge, "riverbend", GRANTED, [stage.repo, NOTES])  # type: ignore[arg-type]  # words
    token = forge.token(ACTIONS_BOT, {"contents": "read", "actions": "read"}, repo=stage.repo)
    yield Entries(stage, app, token)


def writing(name: str = "note.txt") -> list[Step]:
    described = Call("describe_change", {"title": "Write it down", "summary": "It was not."})
    return [Call("write", {"path": name, "content": "known\n"}), described, DONE]


@pytest.mark.slow
def test_a_bundle_for_another_entry_than_the_jobs_is_refused(entries: Entries, stage: Stage):
    with ModelServer(writing()) as model:
        entries.run(NOTES, model)
    outcome = stage.outcome()
    before = stage.writes()
    for change in ({"repository": stage.repo}, {"repository": SHUT}, {"task": "other"}):
        changed = {**outcome, "request": {**outcome["request"], **change}}
        (stage.bundle / "outcome.json").write_text(json.dumps(changed))
        done = entries.publish(NOTES)
        assert done.code == 6
        assert f"the {next(iter(change))} is another" in done.err
        assert stage.writes() == before


@pytest.mark.slow
def test_the_token_that_was_made_for_the_run_leaks_nowhere(entries: Entries, stage: Stage):
    """A model that learned it says it in words, in a command, in a file's text, in its account of the change."""

    def script(asked: ScriptRequest) -> Step:
        [secret] = [token.value for token in stage.forge.tokens_of(BOT)]
        steps: list[Step] = [
            Call("bash", {"command": f"echo {secret} {secret[::-1]}"}),
            Call("write", {"path": "note.txt", "content": "known\n"}),
            Call("describe_change", {"title": f"Write {secret}", "summary": f"It is {secret}."}),
            Say(f"The token is {secret}."),
        ]
        return steps[len(asked.results)]

    with ModelServer(script) as model:
        ran = entries.run(NOTES, model)
    assert ran.code == 0, ran.output
    [secret] = [token.value for token in stage.forge.tokens_of(BOT)]
    done = entries.publish(NOTES)
    said = [ran.output, done.output, *(json.dumps(pull) for pull in stage.get("pulls", NOTES))]
    said += [file.read_text(errors="replace") for file in stage.bundle.iterdir()]
    assert not [text for text in said if secret in text or secret[::-1] in text]
    assert "[redacted GITHUB_APP_TOKEN]" in (stage.bundle / "journal.jsonl").read_text()
    assert stage.outcome()["redactions"] == ["GITHUB_APP_TOKEN"]


@pytest.mark.parametrize(("login", "code"), [(MAINTAINER, 0), (REPORTER, 3)])
@pytest.mark.slow
def test_who_starts_a_task_elsewhere_by_hand_must_be_allowed_it_there(
    entries: Entries, stage: Stage, login: str, code: int
):
    stage.forge.grant(NOTES, MAINTAINER, "write")
    sender = stage.get(f"collaborators/{login}/permission", stage.repo)["user"]
    event = {"inputs": {}, "repository": stage.sample.event["repository"], "sender": sender}
    by_hand = {
        "GITHUB_EVENT_NAME": "workflow_dispatch",
        "GITHUB_EVENT_PATH": str(stage.event_file(event, "dispatch.json")),
    }
    with ModelServer(writing()) as model:
        ran = entries.run(NOTES, model, **by_hand)
        assert ran.code == code, ran.output
        assert bool(model.requests) == (code == 0)
    if code == 0:
        assert entries.publish(NOTES, **by_hand).code == 0

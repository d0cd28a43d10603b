"""Events that nobody wrote a command for: a schedule, a label, a failed run, which is tried at most twice a head."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from bot.contracts.request import Trigger
from bot.github.client import connect
from bot.publish.thread.history import count_tries
from bot.publish.thread.markers import trigger_key
from slash_forge.bundled import MAINTAINER
from slash_forge.runs import Step as JobStep
from tests.support.fix_script import fix_steps
from tests.support.model_script import Say, Step
from tests.support.stage import BOT, Stage

pytestmark = pytest.mark.bubblewrap
READ = ("contents", "pull_requests", "checks", "actions", "statuses")
READING: dict[str, Any] = {**dict.fromkeys(READ, "read"), "issues": "write"}


def test_a_schedule_may_what_the_default_branchs_policy_gives_it(stage: Stage):
    stage.forge.commit(stage.repo, {".github/agent.yml": "tiers:\n  schedule:\n    verbs: [explain]\n"})
    ran = stage.run("--instruction", "fix it", event={"schedule": "0 4 * * *"}, name="schedule")
    assert ran.code == 3
    asked = [one.query for one in stage.forge.requests if one.path.endswith("agent.yml")]
    assert asked == ["ref=main"]


def _failed_run(stage: Stage, number: int, steps: Sequence[Step]) -> tuple[Any, list[str]]:
    """CI fails on the pull request: the event, and the first messages of the run's requests to the model."""
    run = stage.forge.add_run(stage.repo, pull=number, event="pull_request", conclusion="failure")
    log = JobStep("Test", "failure", "E   it shows 60 seconds\n")
    stage.forge.add_job(stage.repo, run, "unit", conclusion="failure", steps=[log])
    event = stage.forge.workflow_run_event(stage.repo, run)
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    ran = stage.run(model=steps, event=event, name="workflow_run", token=token)
    asked = [json.dumps(one.json["messages"][0]) for one in ran.requests]
    assert ran.code == 0, ran.output
    return event, asked


@pytest.mark.slow
def test_a_failed_run_is_mended_on_the_pull_request_at_most_twice_a_head(stage: Stage):
    stage.forge.commit(stage.repo, {".github/agent.yml": "triggers: {failed_runs: true}\n"})
    stage.forge.commit(stage.repo, {"notes.md": "draft\n"}, branch="topic", author=MAINTAINER)
    number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic")
    event, asked = _failed_run(stage, number, fix_steps())
    assert "it shows 60 seconds" in asked[0]
    stage.publish_event(event, "workflow_run")
    [made] = [one for one in stage.pulls() if one["number"] != number]
    assert (made["base"]["ref"], made["draft"]) == ("topic", True)
    nothing = [Say("Nothing to mend.")]
    assert [len(_failed_run(stage, number, nothing)[1]) for _ in range(2)] == [1, 0]
    stage.forge.commit(stage.repo, {"notes.md": "more\n"}, branch="topic", author=MAINTAINER)
    assert len(_failed_run(stage, number, nothing)[1]) == 1


HEAD, OTHER = "a" * 40, "b" * 40


def failed(head: str, run: int) -> str:
    """The key of the request that the failed run `run` at `head` makes."""
    url = f"https://github.test/riverbend/tidytime/actions/runs/{run}"
    return trigger_key(Trigger("workflow_run", 0, url, "2026-01-01T00:00:00Z"), head)


@pytest.mark.parametrize(
    ("keys", "login", "tried"),
    [
        ([], BOT, 0),
        ([failed(HEAD, 5)], BOT, 1),
        ([failed(HEAD, 5), failed(HEAD, 5)], BOT, 1),
        ([failed(HEAD, 5), failed(HEAD, 6)], BOT, 2),
        ([failed(OTHER, 5), "10", "r10", "thread"], BOT, 0),
        ([failed(HEAD, 5)], MAINTAINER, 0),
    ],
)
def test_tries_are_the_requests_that_failed_runs_made_at_that_head(
    stage: Stage, keys: list[str], login: str, tried: int
):
    for key in keys:
        body = f"said\n\n<!-- slash-agent progress request={key} run=7 state=over -->"
        stage.forge.comment(stage.repo, stage.sample.issue, login, body)
    github = connect(stage.sample.run_token, stage.forge.api_url, stage.repo)
    assert count_tries(github, stage.sample.issue, HEAD) == tried


def test_every_other_event_has_the_key_of_the_comment_that_asked():
    url = "https://github.test/octo/hello/issues/1#issuecomment-9"
    assert trigger_key(Trigger("issue_comment", 9, url, ""), "") == "9"
    assert trigger_key(Trigger("pull_request_review_comment", 9, url, ""), HEAD) == "r9"
    assert trigger_key(Trigger("issues", 0, url, ""), "") == "thread"

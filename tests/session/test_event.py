"""`/agent fix this` from the event's payload to the draft pull request: `run`, then `publish`, as the jobs do; and
events that nobody wrote a command for: a schedule, a label, a failed run, which is tried at most twice a head."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from bot.contracts.request import Trigger
from bot.follow_up.record import read_record
from bot.github.client import connect
from bot.publish.thread.markers import tries_key, trigger_key
from slash_forge import Forge
from slash_forge.bundled import MAINTAINER
from slash_forge.runs import Step as JobStep
from tests.support.fix_script import fix_steps
from tests.support.model_script import Say, Step
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT
from tests.support.stage import BOT, MODEL, Stage, open_stage

pytestmark = pytest.mark.bubblewrap

BRANCH = re.compile(r"agent/issue-1-[a-z0-9-]+")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One request carried out and published, for tests that only look."""
    with Forge() as forge:
        stage = open_stage(forge, tmp_path_factory.mktemp("published") / "stage")
        ran = stage.run(model=fix_steps())
        assert ran.code == 0, ran.output
        check_that_the_runs_token_cannot_push(stage)
        done = stage.publish()
        assert done.code == 0, done.output
        yield stage


def check_that_the_runs_token_cannot_push(stage: Stage) -> None:
    refused = stage.publish(token=stage.sample.run_token)
    assert refused.code == 6
    assert set(stage.branches()) == {"main"}
    assert (stage.bundle / "outcome.json").exists()
    assert "Traceback" not in refused.output


def test_a_comment_becomes_a_draft_pull_request(published: Stage):
    [pull] = published.pulls()
    assert pull["draft"]
    assert BRANCH.fullmatch(pull["head"]["ref"])
    assert pull["base"]["ref"] == "main"
    assert pull["title"] == "Round durations before splitting them"
    assert [person["login"] for person in pull["requested_reviewers"]] == [MAINTAINER]


def test_the_body_tells_what_was_asked_done_checked_and_spent(published: Stage):
    body = published.pulls()[0]["body"]
    assert "Fixes #1" in body
    assert "Seconds were rounded after the larger units" in body
    assert "python3 -m unittest" in body
    assert re.search(r"failed.*passed", body, re.IGNORECASE), body
    assert "under $0.01" in body
    assert "3 turns" in body
    assert body.rstrip().splitlines()[-1].startswith("<!-- slash-agent pull-request ")


def test_one_progress_comment_is_edited_and_ends_with_the_pull_request(published: Stage):
    [comment] = published.bot_comments()
    number = published.pulls()[0]["number"]
    assert comment.startswith(f"**Done:** pull request [#{number} ")
    assert [line for line in published.writes() if line == f"POST {published.api}/issues/1/comments"] == [
        f"POST {published.api}/issues/1/comments"
    ]


def test_without_a_change_one_comment_tells_the_end(stage: Stage):
    """The thread reached the model as it was at the trigger."""
    later, _ = stage.forge.comment(
        stage.repo, stage.sample.issue, MAINTAINER, "written later", at="2099-01-01T00:00:00Z"
    )
    with ModelServer([Say("It is right as it is.")]) as server:
        assert stage.run(model=server).code == 0
        first = json.dumps(server.requests[0].json)
    assert "has to stay `13s`" in first
    assert "format_duration shows 60 seconds" in first
    assert later
    assert "written later" not in first
    stage.publish()
    assert stage.publish().code == 0
    [end] = stage.bot_comments()
    assert end.startswith("It is right as it is.\n\n<sub>No file was changed.</sub>")
    assert stage.pulls() == []


FIRST = ROOT / ".github" / "action" / "admission.py"
MOST_OF_A_FIX = 16


@pytest.mark.slow
def test_a_whole_fix_costs_at_most_sixteen_calls_besides_progress_edits(stage: Stage):
    """The first answer, the run and the publishing, as the three jobs do them."""
    run = stage.add_run()
    file = stage.event_file(stage.sample.event)
    actions = {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(file), **stage.job(run)}
    with ModelServer(fix_steps()) as server:
        more = {**actions, **server.environment(), "SLASH_AGENT_MODEL": MODEL}
        output = stage.folder / "output"
        own = {"SLASH_AGENT_GITHUB_TOKEN": stage.sample.run_token, "GITHUB_OUTPUT": str(output)}
        step = stage.environment(**{**actions, **own, "GITHUB_ACTIONS": "true"})
        first = stage.call([sys.executable, "-I", str(FIRST)], {**step, "SLASH_AGENT_MODE": "gate"})
        found = re.search(r"gate<<\S+\ngo (\d+)\n", output.read_text())
        assert found, first.output
        before = len(stage.bot_requests())
        again = stage.call(
            [sys.executable, "-I", str(FIRST)], {**step, "SLASH_AGENT_GATE": f"go {found.group(1)}"}
        )
        assert (again.code, len(stage.bot_requests())) == (0, before), again.output
        ran = stage.run(**more, SLASH_AGENT_COMMENT=found.group(1))
    assert (first.code, ran.code) == (0, 0), first.output + ran.output
    published = stage.publish(**actions)
    assert published.code == 0, published.output
    assert len(stage.pulls()) == 1
    assert len(stage.bot_comments()) == 1
    progress = re.compile("PATCH .*/issues/comments/")
    calls = [line for line in stage.bot_requests() if " /api/" in line and not progress.match(line)]
    assert len(calls) <= MOST_OF_A_FIX, "\n".join(calls)


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
        ([], BOT, (0, 0)),
        ([failed(HEAD, 5)], BOT, (1, 1)),
        ([failed(HEAD, 5), failed(HEAD, 5)], BOT, (1, 1)),
        ([failed(HEAD, 5), failed(HEAD, 6)], BOT, (2, 2)),
        ([failed(OTHER, 5), "10", "r10", "thread"], BOT, (0, 1)),
        ([failed(HEAD, 5)], MAINTAINER, (0, 0)),
    ],
)
def test_tries_are_the_requests_that_failed_runs_made_at_that_head(
    stage: Stage, keys: list[str], login: str, tried: tuple[int, int]
):
    for key in keys:
        body = f"said\n\n<!-- slash-agent progress request={key} run=7 state=over -->"
        stage.forge.comment(stage.repo, stage.sample.issue, login, body)
    github = connect(stage.sample.run_token, stage.forge.api_url, stage.repo)
    record = read_record(github, stage.sample.issue)
    assert (sum(key.startswith(tries_key(HEAD)) for key in record.tries), len(record.tries)) == tried
    assert record.spent.rounds == tried[1]


def test_every_other_event_has_the_key_of_the_comment_that_asked():
    url = "https://github.test/octo/hello/issues/1#issuecomment-9"
    assert trigger_key(Trigger("issue_comment", 9, url, ""), "") == "9"
    assert trigger_key(Trigger("pull_request_review_comment", 9, url, ""), HEAD) == "r9"
    assert trigger_key(Trigger("issues", 0, url, ""), "") == "thread"

"""Fixes of pull requests by the command line, in the two jobs of a workflow: what set them off, and what went wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER
from slash_forge.runs import Step as JobStep
from tests.session.test_event_bad_input import running, said
from tests.support.fix_script import DESCRIBE, DONE, EDITS, VIEW, fix_steps
from tests.support.model_script import Say, Step
from tests.support.model_server import ModelServer
from tests.support.repositories import git
from tests.support.stage import CommandResult, Stage
from tests.support.verb_runs import fork_pull

pytestmark = pytest.mark.bubblewrap

POLICY = ".github/agent.yml"
SOURCE = "tidytime/format.py"
MENDED = "remaining = round(abs(seconds))"
READING: dict[str, Any] = {
    "contents": "read",
    "issues": "write",
    "pull_requests": "read",
    "checks": "read",
    "actions": "read",
    "statuses": "read",
}


@dataclass(frozen=True)
class VerbRun:
    """One run: what it said, and the first message of each request to the model."""

    ran: CommandResult
    told: list[str]


def act(stage: Stage, event: Any, name: str, steps: Sequence[Step]) -> VerbRun:
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    with ModelServer(steps) as server:
        ran = stage.run(model=server, event=event, name=name, token=token)
        told = [json.dumps(one.json["messages"][0], ensure_ascii=False) for one in server.requests]
    assert "Traceback" not in ran.output
    return VerbRun(ran, told)


def publish(stage: Stage, event: Any, name: str) -> CommandResult:
    done = stage.publish(GITHUB_EVENT_NAME=name, GITHUB_EVENT_PATH=str(stage.event_file(event)))
    assert done.code == 0, done.output
    return done


def theirs(stage: Stage, branch: str = "topic") -> int:
    """A maintainer's pull request from a branch of the repository."""
    stage.forge.commit(stage.repo, {"notes.md": "draft\n"}, branch=branch, author=MAINTAINER)
    return stage.forge.open_pull(stage.repo, MAINTAINER, branch)


def content(stage: Stage, sha: str, path: str = SOURCE) -> str:
    return git(stage.forge.git_folder(stage.repo), "show", f"{sha}:{path}")


def others(stage: Stage, number: int) -> list[Any]:
    return [one for one in stage.pulls() if one["number"] != number]


# A failed run


def failed_run(stage: Stage, number: int) -> Any:
    run = stage.forge.add_run(stage.repo, pull=number, event="pull_request", conclusion="failure")
    log = JobStep("Test", "failure", "E   it shows 60 seconds\n")
    stage.forge.add_job(stage.repo, run, "unit", conclusion="failure", steps=[log])
    return stage.forge.workflow_run_event(stage.repo, run)


@pytest.mark.slow
def test_a_failed_run_is_mended_on_the_pull_request_at_most_twice_a_head(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {POLICY: "triggers: {failed_runs: true}\n"})
    number = theirs(stage)
    event = failed_run(stage, number)
    came = act(stage, event, "workflow_run", fix_steps())
    assert came.ran.code == 0, came.ran.output
    assert "it shows 60 seconds" in came.told[0]
    publish(stage, event, "workflow_run")
    [made] = others(stage, number)
    assert (made["base"]["ref"], made["draft"]) == ("topic", True)
    assert MENDED in content(stage, made["head"]["sha"])
    assert len(act(stage, failed_run(stage, number), "workflow_run", [Say("Nothing to mend.")]).told) == 1
    third = act(stage, failed_run(stage, number), "workflow_run", [Say("Asked!")])
    assert third.told == []
    assert third.ran.code == 0
    stage.forge.commit(stage.repo, {"notes.md": "more\n"}, branch="topic", author=MAINTAINER)
    assert len(act(stage, failed_run(stage, number), "workflow_run", [Say("Nothing to mend.")]).told) == 1


# A comment on lines


@pytest.mark.slow
def test_a_comment_on_lines_is_about_these_lines_and_answered_there(stage: Stage) -> None:
    number = theirs(stage)
    asked = stage.forge.review_comment(stage.repo, number, MAINTAINER, "notes.md", 1, body="/agent fix this")
    event = stage.forge.review_comment_event(stage.repo, asked)
    came = act(stage, event, "pull_request_review_comment", fix_steps())
    assert came.ran.code == 0, came.ran.output
    assert "Fix what the review thread below is about." in came.told[0]
    for _ in range(2):
        publish(stage, event, "pull_request_review_comment")
    [made] = others(stage, number)
    [answer] = [one for one in stage.get(f"pulls/{number}/comments") if one.get("in_reply_to_id") == asked]
    assert answer["body"].startswith(f"**Done:** pull request [#{made['number']} ")


# A fork


@pytest.mark.slow
def test_a_fix_that_fits_on_a_forks_diff_is_suggestions_and_nothing_else(stage: Stage) -> None:
    text = content(stage, "main")
    touched = "".join(
        f"{line}  # read\n" if line.endswith(":") else f"{line}\n" for line in text.splitlines()
    )
    number = fork_pull(stage, {SOURCE: touched.replace("unit.seconds == 1:  # read", "unit.seconds == 1:")})
    head = stage.get(f"pulls/{number}")["head"]["sha"]
    event = stage.ask("/agent fix the rounding", number=number)
    came = act(stage, event, "issue_comment", [VIEW, EDITS[0], DESCRIBE, DONE])
    assert came.ran.code == 0, came.ran.output
    for _ in range(2):
        done = publish(stage, event, "issue_comment")
    assert f"Pull request #{number} has the change as suggestions" in done.out
    [review] = stage.get(f"pulls/{number}/reviews")
    [remark] = stage.get(f"pulls/{number}/comments")
    assert (review["commit_id"], MENDED in remark["body"]) == (head, True)
    assert others(stage, number) == []
    assert set(stage.branches()) == {"main"}
    assert any(f"**Done:** [suggestions on #{number}]" in body for body in stage.bot_comments(number))


# What moves meanwhile


@pytest.mark.slow
def test_a_head_that_moves_during_the_run_is_left_alone_and_the_result_is_beside_it(stage: Stage) -> None:
    stage.forge.commit(stage.repo, {POLICY: "push_to_head: true\n"})
    number = theirs(stage)
    event = stage.ask("/agent fix the rounding", number=number)
    stage.sample = replace(stage.sample, event=event)
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    with running(stage, token) as process:
        later = stage.forge.commit(stage.repo, {"notes.md": "later\n"}, branch="topic", author=MAINTAINER)
    assert process.completed.result().returncode == 0, said(process)
    publish(stage, event, "issue_comment")
    assert stage.branches()["topic"] == later
    [made] = others(stage, number)
    assert made["base"]["ref"] == "topic"
    assert "has moved on since the run began" in made["body"]


@pytest.mark.slow
def test_a_head_that_is_rewritten_during_the_run_gets_nothing_and_the_thread_is_told(stage: Stage) -> None:
    number = theirs(stage)
    event = stage.ask("/agent fix the rounding", number=number)
    assert act(stage, event, "issue_comment", fix_steps()).ran.code == 0
    served = stage.forge.git_folder(stage.repo)
    git(served, "update-ref", "refs/heads/topic", "refs/heads/main")
    rewritten = stage.forge.commit(stage.repo, {"notes.md": "other\n"}, branch="topic", author=MAINTAINER)
    done = stage.publish(GITHUB_EVENT_NAME="issue_comment", GITHUB_EVENT_PATH=str(stage.event_file(event)))
    assert done.code == 6
    assert "its head was rewritten" in done.err
    assert stage.branches()["topic"] == rewritten
    assert others(stage, number) == []
    assert any("its head was rewritten" in body for body in stage.bot_comments(number))


# Names of branches


NAMES = ["fix/#12", "a'b\"c", "größe\u00a0weit\u3000x", "-dash", "$(id)`id`;&|", "x" * 250]


# A bundle that was changed between the jobs

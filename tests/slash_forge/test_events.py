"""Event payloads against GitHub's description of its webhooks."""

from typing import Any

import pytest

from slash_forge import Forge
from slash_forge.runs import Step
from tests.slash_forge.conftest import REPO
from tests.support.openapi import webhook_errors

pytestmark = pytest.mark.node


@pytest.fixture
def pull(forge: Forge) -> int:
    forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="topic")
    return forge.open_pull(REPO, "ada", "topic", title="x")


@pytest.mark.parametrize("place", ["issue", "pull request", "organisation"])
def test_a_comments_event_is_as_described(forge: Forge, pull: int, place: str):
    name, number = REPO, pull
    if place == "organisation":
        forge.add_organisation("guild", members=["ada"])
        name = forge.create_repository("guild", "tool", private=True)
    if place != "pull request":
        number = forge.create_issue(name, "ada", "It subtracts", None)
    comment, event = forge.comment(name, number, "ada", "/agent fix")
    forge.comment(name, number, "ada", "second")
    assert webhook_errors("issue-comment-created", event) == []
    assert (event["comment"]["id"], event["sender"]["login"]) == (comment, "ada")
    assert (event["issue"]["number"], event["issue"]["comments"]) == (number, 1)
    assert "pull_request" in event["issue"] or place != "pull request"


@pytest.mark.parametrize(
    ("action", "about"),
    [("opened", {}), ("synchronize", {"before": "0" * 40}), ("reopened", {"sender": "tom"}), ("closed", {})],
)
def test_a_pull_requests_event_is_as_described(forge: Forge, pull: int, action: str, about: dict[str, Any]):
    if action == "closed":
        forge.merge(REPO, pull, "ada")
    event = forge.pull_request_event(REPO, pull, action, **about)
    assert webhook_errors(f"pull-request-{action}", event) == []
    assert (event["number"], event["sender"]["login"]) == (pull, about.get("sender", "ada"))
    if action == "synchronize":
        assert (event["before"], event["after"]) == ("0" * 40, forge.branch_sha(REPO, "topic"))


@pytest.mark.parametrize("deleted", [False, True])
def test_an_event_from_a_fork_is_as_described(forge: Forge, deleted: bool):
    forge.commit(forge.fork(REPO, "eve"), {"calc.py": "x = 1\n"}, branch="fix")
    number = forge.open_pull(REPO, "eve", "eve:fix")
    if deleted:
        forge.delete_repository("eve/lib")
    event = forge.pull_request_event(REPO, number)
    head = event["pull_request"]["head"]
    assert (head["label"], head["repo"] is None) == ("eve:fix", deleted)
    # Where the fork is gone, GitHub delivers null and describes an object.
    known = ["pull_request/head/repo"] if deleted else []
    assert [error.partition(":")[0] for error in webhook_errors("pull-request-opened", event)] in (known, [])


def test_a_review_comments_event_is_as_described(forge: Forge, pull: int):
    first = forge.review_comment(REPO, pull, "tom", "calc.py", 1, body="Why?")
    whole = forge.review_comment(REPO, pull, "tom", "calc.py", None, body="Why at all?")
    reply = forge.review_comment_event(REPO, forge.reply(REPO, first, "ada", "/agent explain"))
    assert (reply["comment"]["in_reply_to_id"], reply["comment"]["line"]) == (first, 1)
    forge.commit(REPO, {"calc.py": "y = 2\n"}, branch="topic")
    outdated = [forge.review_comment_event(REPO, comment) for comment in (first, whole)]
    assert [event["comment"]["line"] for event in outdated] == [None, None]
    for event in (reply, *outdated):
        assert webhook_errors("pull-request-review-comment-created", event) == []


def test_events_of_actions_are_as_described(forge: Forge, pull: int):
    run = forge.add_run(REPO, event="pull_request", pull=pull, conclusion="failure")
    forge.add_job(REPO, run, conclusion="failure", steps=[Step("pytest", "failure")])
    event = forge.workflow_run_event(REPO, run)
    assert webhook_errors("workflow-run-completed", event) == []
    assert event["workflow_run"]["pull_requests"][0]["number"] == pull
    scheduled = forge.schedule_event(REPO)
    assert (scheduled["schedule"], "sender" in scheduled) == ("17 4 * * 1", False)


def test_a_damaged_event_is_noticed(forge: Forge, pull: int):
    _, event = forge.comment(REPO, pull, "ada", "/agent fix")
    del event["comment"]["user"]["id"]
    assert any("id" in error for error in webhook_errors("issue-comment-created", event))

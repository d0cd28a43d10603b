"""Event payloads against GitHub's description of its webhooks, and the check itself: it must be able to fail."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from slash_forge import Forge
from slash_forge.checks import Annotation
from slash_forge.faults import Exchange
from slash_forge.router import ROUTES
from slash_forge.runs import Step
from tests.slash_forge.conftest import REPO, Answer, Wire
from tests.slash_forge.tour import travel
from tests.support import openapi
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


STATUS_CHECKS = {"strict_required_status_checks_policy": True, "required_status_checks": [{"context": "ci"}]}
WORKFLOW = "name: CI\non: {push: , workflow_dispatch: {inputs: {level: {type: string}}}}\njobs: {}\n"


@pytest.fixture
def exchange(forge: Forge, wire: Callable[..., Wire], bot_token: str) -> Exchange:
    number = forge.create_issue(REPO, "eve", "x")
    wire(bot_token).api("POST", f"/repos/{REPO}/issues/{number}/comments", {"body": "words"})
    return forge.requests[-1]


def messages(exchange: Exchange) -> str:
    return "\n".join(finding.message for finding in openapi.findings([exchange]))


def changed(exchange: Exchange, **fields: object) -> Exchange:
    return replace(exchange, body=json.dumps({**json.loads(exchange.body), **fields}).encode())


def test_a_good_exchange_passes(exchange: Exchange):
    assert messages(exchange) == ""


def test_a_missing_field_is_found(exchange: Exchange):
    data = json.loads(exchange.body)
    del data["user"]["login"]
    assert "'login' is a required property" in messages(replace(exchange, body=json.dumps(data).encode()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "10"}, "not of type 'integer'"),
        ({"author_association": "FRIEND"}, "is not one of"),
        ({"created_at": "yesterday"}, "is not a 'date-time'"),
        ({"created_at": None}, "not nullable"),
    ],
)
def test_a_wrong_value_is_found(exchange: Exchange, fields: dict[str, object], words: str):
    assert words in messages(changed(exchange, **fields))


def test_a_wrong_request_is_found(exchange: Exchange):
    assert "'body' is a required property" in messages(replace(exchange, request_body=b"{}"))
    extra = b'{"body": "x", "colour": "red"}'
    assert "colour is not a field" in messages(replace(exchange, request_body=extra))
    assert "request body: missing" in messages(replace(exchange, request_body=b""))


def test_a_wrong_status_query_or_path_is_found(exchange: Exchange):
    assert "status 200" in messages(replace(exchange, status=200))
    assert "page is not a parameter" in messages(replace(exchange, query="page=2"))
    assert "not an operation" in messages(replace(exchange, path="/api/v3/repos/a/b/remarks", status=200))


def test_every_operation_answers_as_described(forge: Forge, wire: Callable[..., Wire]):
    sha = forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="agent/topic")
    number = forge.create_issue(REPO, "eve", "First")
    comment, _ = forge.comment(REPO, number, "ada", "words")
    reviewed = forge.open_pull(REPO, "ada", "agent/topic")
    forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="agent/other")
    forge.commit(REPO, {".github/workflows/ci.yml": WORKFLOW})
    run = forge.add_run(REPO, branch="agent/topic", conclusion="failure")
    job = forge.add_job(REPO, run, conclusion="failure", steps=[Step("pytest", "failure", "1 failed")])
    forge.protect(REPO, "main")
    forge.add_rule(REPO, "agent/*", "non_fast_forward")
    forge.add_rule(REPO, "agent/*", "required_status_checks", STATUS_CHECKS)
    forge.add_secret(REPO, "ANTHROPIC_API_KEY")
    ask = wire(forge.token("acme"))
    known = {
        "repo": REPO,
        "sha": sha,
        "issue": str(number),
        "comment": str(comment),
        "reviewed": str(reviewed),
        "pull": str(reviewed + 2),
        "tree": ask.api("GET", f"/repos/{REPO}/git/commits/{sha}").json["tree"]["sha"],
        "run": str(run),
        "running": str(forge.add_run(REPO, branch="agent/topic", conclusion=None)),
        "job": str(job),
        "check": str(
            forge.add_check_run(
                REPO, sha, "lint", annotations=[Annotation("calc.py", 1, 1, "failure", "Bad")]
            )
        ),
        "remark": str(forge.review_comment(REPO, reviewed, "ada", "calc.py", 1, body="x")),
        "artifact": str(forge.add_artifact(REPO, run, "bundle", {"outcome.json": b"{}"})),
        "blob": ask.api("GET", f"/repos/{REPO}/contents/calc.py").json["sha"],
    }

    def check(call: str, answer: Answer) -> None:
        elsewhere = call.endswith(("/logs", "/zip"))
        assert answer.status < 300 or elsewhere, (call, answer)

    travel(ask.api, known, check)
    assert [str(finding) for finding in openapi.findings(forge.requests)] == []
    # Apps alone make check runs (1), and ask for themselves (2): that is in the tests of those.
    # Three routes are one operation: contents with a path, without one, and without its last slash. GraphQL is none.
    assert len(openapi.operations(forge.requests)) == len(ROUTES) - 6


def test_whatever_is_refused_is_refused_as_described(forge: Forge, wire: Callable[..., Wire]):
    """The same tour by nobody, by a stranger and by a token that may only read."""
    forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="agent/topic")
    forge.create_issue(REPO, "eve", "First")
    known = {"repo": REPO, "sha": "0" * 40, "blob": "0" * 40}

    def check(call: str, answer: Answer) -> None:
        assert answer.status < 500, (call, answer)

    for token in ("", forge.token("eve"), forge.token(permissions={"contents": "read"}, repo=REPO)):
        travel(wire(token).api, known, check)
    assert [str(finding) for finding in openapi.findings(forge.requests)] == []

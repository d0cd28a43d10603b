"""The check against GitHub's description itself: it must be able to fail, and nothing must escape it."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from slash_forge import Forge
from slash_forge.checks import Annotation
from slash_forge.faults import Exchange
from slash_forge.router import ROUTES
from slash_forge.runs import Step
from tests.slash_forge.conftest import REPO, Answer, Wire
from tests.slash_forge.tour import travel
from tests.support import openapi

pytestmark = pytest.mark.node

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

"""The check against GitHub's description itself: it must be able to fail, and nothing must escape it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from github.Repository import Repository

from bot.forge import Forge
from bot.forge.faults import Exchange
from bot.forge.routes import ROUTES
from tests.forge.conftest import REPO, Wire
from tests.support import openapi

pytestmark = pytest.mark.node


@pytest.fixture
def exchange(forge: Forge, wire: Callable[..., Wire], bot_token: str) -> Exchange:
    number = forge.create_issue(REPO, "eve", "x")
    wire(bot_token).api("POST", f"/repos/{REPO}/issues/{number}/comments", {"body": "words"})
    return forge.requests[-1]


def messages(exchange: Exchange) -> str:
    return "\n".join(finding.message for finding in openapi.findings([exchange]))


def changed(exchange: Exchange, **fields: object) -> Exchange:
    return replace(exchange, body=json.dumps({**json.loads(exchange.body), **fields}).encode())


def test_a_good_exchange_passes(exchange: Exchange) -> None:
    assert messages(exchange) == ""


def test_a_missing_field_is_found(exchange: Exchange) -> None:
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
def test_a_wrong_value_is_found(exchange: Exchange, fields: dict[str, object], words: str) -> None:
    assert words in messages(changed(exchange, **fields))


def test_a_wrong_request_is_found(exchange: Exchange) -> None:
    assert "'body' is a required property" in messages(replace(exchange, request_body=b"{}"))
    extra = b'{"body": "x", "colour": "red"}'
    assert "colour is not a field" in messages(replace(exchange, request_body=extra))
    assert "request body: missing" in messages(replace(exchange, request_body=b""))


def test_a_wrong_status_query_or_path_is_found(exchange: Exchange) -> None:
    assert "status 200" in messages(replace(exchange, status=200))
    assert "page is not a parameter" in messages(replace(exchange, query="page=2"))
    assert "not an operation" in messages(replace(exchange, path="/api/v3/repos/a/b/remarks", status=200))


def test_an_error_without_a_message_is_found(exchange: Exchange) -> None:
    assert "not of type 'string'" in messages(replace(exchange, status=401, body=b'{"message": 3}'))


# A path for every operation. `{...}` is filled in below.
_TOUR = """
GET /user
GET /users/ada
GET /rate_limit
GET /meta
GET /repos/{repo}
GET /repos/{repo}/collaborators
GET /repos/{repo}/collaborators/ada
GET /repos/{repo}/collaborators/ada/permission
GET /repos/{repo}/assignees/ada
GET /repos/{repo}/branches
GET /repos/{repo}/branches/agent/topic
GET /repos/{repo}/commits
GET /repos/{repo}/commits/main
GET /repos/{repo}/compare/main...agent/topic
GET /repos/{repo}/contents/
GET /repos/{repo}/contents/calc.py
GET /repos/{repo}/git/ref/heads/agent/topic
GET /repos/{repo}/git/matching-refs/heads/agent
GET /repos/{repo}/git/commits/{sha}
GET /repos/{repo}/git/trees/main
GET /repos/{repo}/git/blobs/{blob}
POST /repos/{repo}/git/refs {"ref": "refs/heads/other", "sha": "{sha}"}
PATCH /repos/{repo}/git/refs/heads/other {"sha": "{sha}", "force": true}
DELETE /repos/{repo}/git/refs/heads/other
GET /repos/{repo}/issues
POST /repos/{repo}/issues {"title": "Second", "labels": ["bug"], "assignees": ["ada"]}
GET /repos/{repo}/issues/1
PATCH /repos/{repo}/issues/1 {"state": "closed", "state_reason": "completed"}
PUT /repos/{repo}/issues/1/lock {"lock_reason": "resolved"}
DELETE /repos/{repo}/issues/1/lock
POST /repos/{repo}/issues/1/assignees {"assignees": ["ada"]}
DELETE /repos/{repo}/issues/1/assignees {"assignees": ["ada"]}
GET /repos/{repo}/issues/comments
GET /repos/{repo}/issues/1/comments
POST /repos/{repo}/issues/1/comments {"body": "hello"}
GET /repos/{repo}/issues/comments/{comment}
PATCH /repos/{repo}/issues/comments/{comment} {"body": "hello again"}
POST /repos/{repo}/issues/comments/{comment}/reactions {"content": "eyes"}
GET /repos/{repo}/issues/comments/{comment}/reactions
DELETE /repos/{repo}/issues/comments/{comment}/reactions/{last}
POST /repos/{repo}/issues/1/reactions {"content": "rocket"}
GET /repos/{repo}/issues/1/reactions
DELETE /repos/{repo}/issues/1/reactions/{last}
DELETE /repos/{repo}/issues/comments/{comment}
GET /repos/{repo}/labels
POST /repos/{repo}/labels {"name": "area", "color": "00ff00"}
GET /repos/{repo}/labels/area
POST /repos/{repo}/issues/1/labels {"labels": ["area"]}
GET /repos/{repo}/issues/1/labels
PUT /repos/{repo}/issues/1/labels {"labels": ["area", "bug"]}
DELETE /repos/{repo}/issues/1/labels/area
DELETE /repos/{repo}/issues/1/labels
POST /repos/{repo}/pulls {"title": "Topic", "head": "agent/topic", "base": "main", "draft": true}
GET /repos/{repo}/pulls
GET /repos/{repo}/pulls/3
PATCH /repos/{repo}/pulls/3 {"body": "Text"}
GET /repos/{repo}/pulls/3/files
GET /repos/{repo}/pulls/3/commits
GET /repos/{repo}/pulls/3/requested_reviewers
POST /repos/{repo}/pulls/3/requested_reviewers {"reviewers": ["ada"]}
DELETE /repos/{repo}/pulls/3/requested_reviewers {"reviewers": ["ada"]}
POST /repos/{repo}/pulls/3/reviews {"event": "COMMENT", "body": "Fine"}
GET /repos/{repo}/pulls/3/reviews
GET /repos/{repo}/pulls/3/merge
PUT /repos/{repo}/pulls/4/merge {"merge_method": "squash"}
"""


def test_every_operation_answers_as_described(forge: Forge, wire: Callable[..., Wire]) -> None:
    sha = forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="agent/topic")
    number = forge.create_issue(REPO, "eve", "First")
    comment, _ = forge.comment(REPO, number, "ada", "words")
    ask = wire(forge.token("acme"))
    filled = {"repo": REPO, "sha": sha, "comment": str(comment), "last": "0"}
    filled["blob"] = ask.api("GET", f"/repos/{REPO}/contents/calc.py").json["sha"]
    for line in _TOUR.strip().splitlines():
        for name, value in filled.items():
            line = line.replace(f"{{{name}}}", value)
        method, path, *body = line.split(" ", 2)
        answer = ask.api(method, path, json.loads(body[0]) if body else None)
        assert answer.status < 300 or path.endswith("/merge"), (line, answer)
        if answer.body and isinstance(answer.json, dict):
            filled["last"] = str(answer.json.get("id", filled["last"]))
    assert [str(finding) for finding in openapi.findings(forge.requests)] == []
    # Three routes are one operation: contents with a path, without one, and without its last slash.
    assert len(openapi.operations(forge.requests)) == len(ROUTES) - 2


def test_whatever_is_refused_is_refused_as_described(forge: Forge, wire: Callable[..., Wire]) -> None:
    """The same tour by nobody, by a stranger and by a token that may only read."""
    forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="agent/topic")
    forge.create_issue(REPO, "eve", "First")
    tokens = ["", forge.token("eve"), forge.token(permissions={"contents": "read"}, repo=REPO)]
    filled = {"repo": REPO, "sha": "0" * 40, "comment": "1", "last": "1", "blob": "0" * 40}
    for token in tokens:
        ask = wire(token)
        for line in _TOUR.strip().splitlines():
            for name, value in filled.items():
                line = line.replace(f"{{{name}}}", value)
            method, path, *body = line.split(" ", 2)
            assert ask.api(method, path, json.loads(body[0]) if body else None).status < 500, line
    assert [str(finding) for finding in openapi.findings(forge.requests)] == []


def test_pygithubs_own_requests_are_as_described(forge: Forge, repo: Repository) -> None:
    """One of each write a bot makes, as PyGithub phrases it."""
    issue = repo.create_issue("x", body="y")
    issue.add_to_labels("bug")
    issue.create_comment("z").edit("w")
    issue.edit(state="closed")
    assert openapi.findings(forge.requests) == []

"""What a token may see and do, and the words GitHub refuses with; GitHub Apps, identified by a signed word, and their
tokens of an hour; workflow runs, logs and dispatches, and what Actions may do."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest
from github.Repository import Repository

from slash_forge import Forge
from slash_forge.runs import Step
from tests.slash_forge.conftest import REPO, Answer, Wire
from tests.support.apps import keys

WireTo = Callable[..., Wire]


@pytest.mark.parametrize("path", ["", "/issues", "/pulls", "/collaborators/ada/permission", "/contents/x"])
def test_a_private_repository_is_not_there_for_others(forge: Forge, wire: WireTo, path: str):
    forge.create_repository("acme", "secret", private=True)
    forge.grant("acme/secret", "ada", "read")
    for token in ("", forge.token("eve"), forge.token(permissions={"contents": "write"}, repo=REPO)):
        answer = wire(token).api("GET", f"/repos/acme/secret{path}")
        assert (answer.status, answer.json["message"]) == (404, "Not Found")


def test_a_read_only_token_writes_nothing(forge: Forge, wire: WireTo):
    number = forge.create_issue(REPO, "eve", "x")
    comment, _ = forge.comment(REPO, number, "eve", "y")
    sha = forge.commit(REPO, {"x": "y"}, branch="topic")
    read = {"contents": "read", "issues": "read", "pull_requests": "read"}
    ask = wire(forge.token(permissions=read, repo=REPO))
    for method, path, body in (
        ("POST", "/issues", {"title": "x"}),
        ("PATCH", f"/issues/{number}", {"title": "z"}),
        ("POST", f"/issues/{number}/comments", {"body": "x"}),
        ("PATCH", f"/issues/comments/{comment}", {"body": "x"}),
        ("POST", f"/issues/{number}/labels", {"labels": ["bug"]}),
        ("POST", f"/issues/comments/{comment}/reactions", {"content": "eyes"}),
        ("POST", "/pulls", {"title": "x", "head": "topic", "base": "main"}),
        ("POST", "/git/refs", {"ref": "refs/heads/a", "sha": sha}),
        ("PATCH", "/git/refs/heads/topic", {"sha": sha}),
        ("DELETE", "/git/refs/heads/topic", None),
    ):
        answer = ask.api(method, f"/repos/{REPO}{path}", body)
        assert (answer.status, answer.json["message"]) == (403, "Resource not accessible by integration"), (
            path
        )


def test_either_permission_comments_on_a_pull_request(forge: Forge, repo: Repository, wire: WireTo):
    forge.commit(REPO, {"x": "y"}, branch="topic")
    number = repo.create_pull(base="main", head="topic", title="x", body="").number
    issue = forge.create_issue(REPO, "eve", "x")
    for resource in ("issues", "pull_requests"):
        ask = wire(forge.token(permissions={resource: "write"}, repo=REPO))
        assert ask.api("POST", f"/repos/{REPO}/issues/{number}/comments", {"body": "x"}).status == 201
    assert ask.api("POST", f"/repos/{REPO}/issues/{issue}/comments", {"body": "x"}).status == 403


@pytest.fixture
def app(forge: Forge) -> int:
    forge.create_repository("acme", "other", private=True)
    permissions = {"contents": "write", "issues": "write", "checks": "read"}
    return forge.register_app("slash", keys("")[1], permissions, owner="maker")  # type: ignore[arg-type]  # words


@pytest.fixture
def installation(forge: Forge, app: int) -> int:
    return forge.install_app(app, "acme", [REPO])


def word(app: int, key: str = "", **changes: Any) -> str:
    now = int(datetime.now(UTC).timestamp())
    claims = {"iss": str(app), "iat": now - 30, "exp": now + 300, **changes}
    return jwt.encode({k: v for k, v in claims.items() if v is not None}, keys(key)[0], algorithm="RS256")


def test_a_token_reaches_what_it_was_installed_on(forge: Forge, wire: WireTo, app: int, installation: int):
    path = f"/app/installations/{installation}/access_tokens"
    created = wire(word(app)).api("POST", path, {})
    assert (created.status, created.json["repository_selection"]) == (201, "selected")
    assert created.json["permissions"] == {
        "contents": "write", "issues": "write", "checks": "read", "metadata": "read"
    }  # fmt: skip
    ask = wire(created.json["token"])
    assert ask.api("GET", f"/repos/{REPO}").status == 200
    assert ask.api("GET", "/repos/acme/other").status == 404
    assert ask.api("GET", "/user").status == 403
    body = {"title": "x", "head": "a", "base": "main"}
    assert ask.api("POST", f"/repos/{REPO}/pulls", body).json["message"].startswith("Resource not accessible")


def test_a_token_may_be_for_less_and_never_for_more(forge: Forge, wire: WireTo, app: int, installation: int):
    ask = wire(word(app))
    path = f"/app/installations/{installation}/access_tokens"
    less = ask.api("POST", path, {"permissions": {"issues": "read"}, "repositories": ["lib"]}).json
    assert less["permissions"] == {"issues": "read", "metadata": "read"}
    assert wire(less["token"]).api("POST", f"/repos/{REPO}/issues", {"title": "x"}).status == 403
    for more in (
        {"permissions": {"checks": "write"}},
        {"permissions": {"actions": "read"}},
        {"repositories": ["other"]},
    ):
        assert ask.api("POST", path, more).status == 422


NOW = int(datetime.now(UTC).timestamp())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": NOW - 1}, "future time"),
        ({"exp": NOW + 7200}, "too far in the future"),
        ({"exp": None}, "future time"),
        ({"iat": NOW + 7200, "exp": NOW + 7500}, "Issued at"),
        ({"iat": None}, "Issued at"),
        ({"key": "another"}, "could not be decoded"),
        ({"iss": "nobody"}, "could not be decoded"),
    ],
    ids=["over", "too long", "no end", "not yet", "no beginning", "another key", "nobody"],
)
def test_a_wrong_word_is_a_401(forge: Forge, wire: WireTo, app: int, changes: dict[str, Any], words: str):
    answer = wire(word(app, **changes)).api("GET", "/app")
    assert (answer.status, words in answer.json["message"]) == (401, True), answer.json


def test_what_is_not_the_apps_is_not_there(forge: Forge, wire: WireTo, app: int, installation: int):
    ask = wire(word(app))
    path = f"/repos/{REPO}/installation"
    found = ask.api("GET", path).json
    assert (found["id"], found["app_slug"]) == (installation, "slash")
    assert ask.api("POST", "/app/installations/1/access_tokens", {}).status == 404
    assert ask.api("GET", "/repos/acme/other/installation").status == 404
    assert wire(word(99)).api("GET", path).status == 404
    assert wire(forge.token("acme")).api("GET", path).status == 401


Ask = Callable[..., Answer]

WORKFLOW = """\
name: Agent
on:
  issue_comment:
  workflow_dispatch:
    inputs:
      instruction: {required: true}
      level: {type: choice, options: [low, high], default: low}
      dry: {type: boolean, default: false}
jobs: {}
"""


@pytest.fixture
def ask(forge: Forge, wire: WireTo) -> Ask:
    one = wire(forge.token(permissions={"actions": "write", "contents": "write"}, repo=REPO))
    return lambda method, path, body=None: one.api(method, f"/repos/{REPO}{path}", body)


def test_runs_are_listed_newest_first_and_filtered(forge: Forge, ask: Ask):
    old = forge.add_run(REPO, event="schedule", actor="ada", at="2026-01-01T10:00:00Z")
    mid = forge.add_run(REPO, event="push", conclusion="failure", at="2026-01-02T10:00:00Z")
    new = forge.add_run(
        REPO, workflow=".github/workflows/agent.yml", event="issue_comment", conclusion=None, actor="eve",
        at="2026-01-03T10:00:00Z",
    )  # fmt: skip

    def listed(query: str) -> list[int]:
        answer = ask("GET", f"/actions/runs?{query}").json
        assert answer["total_count"] == len(answer["workflow_runs"])
        return [one["id"] for one in answer["workflow_runs"]]

    assert listed("") == [new, mid, old]
    assert listed("event=schedule") == [old]
    assert listed("status=failure") == [mid]
    assert listed("status=in_progress") == [new]
    assert listed("status=completed") == [mid, old]
    assert listed("actor=eve") == [new]
    assert listed("created=%3E%3D2026-01-02") == [new, mid]
    assert ask("GET", "/actions/runs?created=2026-01-01..2026-01-02").status == 422
    matches = ask("GET", "/actions/workflows/agent.yml/runs").json["workflow_runs"]
    assert [one["id"] for one in matches] == [new]


def test_logs_are_a_redirect_that_takes_no_token(forge: Forge, ask: Ask, wire: WireTo):
    run = forge.add_run(REPO, conclusion="failure")
    steps = [Step("build", log="fine\n"), Step("pytest", "failure", "E   assert 1 == 2\n1 failed\n")]
    job = forge.add_job(REPO, run, conclusion="failure", steps=steps)
    answer = ask("GET", f"/actions/jobs/{job}/logs")
    assert urlsplit(answer.headers["location"]).hostname != urlsplit(forge.url).hostname
    path = urlsplit(answer.headers["location"]).path
    stored = wire()("GET", path)
    assert (answer.status, stored.status) == (302, 200)
    lines = stored.body.decode().splitlines()
    assert all(line[:4].isdigit() and line[27:29] == "Z " for line in lines)
    assert [line[29:] for line in lines][-4:] == [
        "##[endgroup]",
        "E   assert 1 == 2",
        "1 failed",
        "##[error]Process completed with exit code 1.",
    ]
    assert wire(forge.token("ada"))("GET", path).status == 400
    assert wire()("GET", f"{path}0").status == 404
    forge.expire_logs(REPO, run)
    assert ask("GET", f"/actions/jobs/{job}/logs").status == 410


def test_a_dispatch_starts_a_run_with_its_inputs(forge: Forge, ask: Ask):
    forge.commit(REPO, {".github/workflows/agent.yml": WORKFLOW})
    body = {"ref": "main", "inputs": {"instruction": "fix it", "dry": True}}
    assert ask("POST", "/actions/workflows/agent.yml/dispatches", body).status == 204
    (run,) = forge.runs(REPO)
    assert (run["event"], run["status"]) == ("workflow_dispatch", "queued")
    assert run["inputs"] == {"instruction": "fix it", "level": "low", "dry": "true"}
    assert (run["workflow"], run["branch"]) == (".github/workflows/agent.yml", "main")

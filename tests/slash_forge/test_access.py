"""What a token may see and do, and the words GitHub refuses with."""

from collections.abc import Callable

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Wire

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

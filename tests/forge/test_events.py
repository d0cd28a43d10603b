"""Event payloads against GitHub's description of its webhooks."""

from __future__ import annotations

import pytest
from github.Repository import Repository

from bot.forge import Forge
from tests.forge.conftest import REPO
from tests.support.openapi import webhook_errors


@pytest.fixture
def issue(forge: Forge) -> int:
    return forge.create_issue(REPO, "eve", "It subtracts", None, labels=["bug"])


@pytest.mark.node
@pytest.mark.parametrize("action", ["created", "edited", "deleted"])
def test_a_comments_event_is_what_github_describes(forge: Forge, issue: int, action: str) -> None:
    number, event = forge.comment(REPO, issue, "ada", "/agent fix")
    if action != "created":
        event = forge.issue_comment_event(REPO, number, action)  # type: ignore[arg-type]  # parametrised
    assert webhook_errors(f"issue-comment-{action}", event) == []


@pytest.mark.node
def test_so_is_one_in_an_organisation(forge: Forge) -> None:
    forge.add_organisation("guild", members=["ada"])
    name = forge.create_repository("guild", "tool", private=True)
    number = forge.create_issue(name, "ada", "x", "y")
    _, event = forge.comment(name, number, "ada", "/agent fix")
    assert webhook_errors("issue-comment-created", event) == []
    assert event["organization"]["login"] == "guild"


@pytest.mark.node
def test_so_is_one_on_a_pull_request(forge: Forge, repo: Repository) -> None:
    forge.commit(REPO, {"x": "y"}, branch="topic")
    pull = repo.create_pull(base="main", head="topic", title="x", body="")
    _, event = forge.comment(REPO, pull.number, "ada", "/agent fix")
    assert webhook_errors("issue-comment-created", event) == []
    assert event["issue"]["pull_request"]["html_url"] == pull.html_url


@pytest.mark.node
def test_a_damaged_event_is_noticed(forge: Forge, issue: int) -> None:
    _, event = forge.comment(REPO, issue, "ada", "/agent fix")
    del event["comment"]["user"]["id"]
    assert any("id" in error for error in webhook_errors("issue-comment-created", event))


def test_it_says_who_and_what_and_where(forge: Forge, issue: int) -> None:
    number, event = forge.comment(REPO, issue, "ada", "/agent fix")
    assert (event["action"], event["sender"]["login"], event["sender"]["type"]) == ("created", "ada", "User")
    assert (event["comment"]["id"], event["comment"]["body"]) == (number, "/agent fix")
    assert (event["issue"]["number"], event["repository"]["full_name"]) == (issue, REPO)
    assert event["comment"]["author_association"] == "COLLABORATOR"


def test_it_tells_the_state_at_its_own_time(forge: Forge, issue: int) -> None:
    _, before = forge.comment(REPO, issue, "ada", "first")
    forge.comment(REPO, issue, "ada", "second")
    assert before["issue"]["comments"] == 1

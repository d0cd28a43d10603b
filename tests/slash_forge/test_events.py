"""Event payloads against GitHub's description of its webhooks."""

from __future__ import annotations

from typing import Any

import pytest
from github.Repository import Repository

from slash_forge import Forge
from slash_forge.runs import Step
from tests.slash_forge.conftest import REPO
from tests.support.openapi import webhook_errors


@pytest.fixture
def issue(forge: Forge) -> int:
    return forge.create_issue(REPO, "eve", "It subtracts", None, labels=["bug"])


@pytest.fixture
def pull(forge: Forge) -> int:
    forge.commit(REPO, {"calc.py": "x = 1\n"}, branch="topic")
    return forge.open_pull(REPO, "ada", "topic", title="x")


@pytest.fixture
def from_fork(forge: Forge) -> int:
    forge.commit(forge.fork(REPO, "eve"), {"calc.py": "x = 1\n"}, branch="fix")
    return forge.open_pull(REPO, "eve", "eve:fix")


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
def test_so_is_one_on_a_pull_request(forge: Forge, repo: Repository, pull: int) -> None:
    _, event = forge.comment(REPO, pull, "ada", "/agent fix")
    assert webhook_errors("issue-comment-created", event) == []
    assert event["issue"]["pull_request"]["html_url"] == repo.get_pull(pull).html_url


@pytest.mark.node
@pytest.mark.parametrize(
    ("action", "about"),
    [
        ("opened", {}),
        ("edited", {}),
        ("closed", {}),
        ("reopened", {}),
        ("labeled", {"label": "bug"}),
        ("unlabeled", {"label": "bug"}),
        ("assigned", {"assignee": "tom"}),
        ("unassigned", {"assignee": "tom"}),
    ],
)
def test_so_are_those_of_issues(forge: Forge, issue: int, action: str, about: dict[str, Any]) -> None:
    if action == "closed":
        forge.set_thread(REPO, issue, state="closed")
    event = forge.issues_event(REPO, issue, action, sender="ada", **about)
    assert webhook_errors(f"issues-{action}", event) == []
    assert event["sender"]["login"] == "ada"
    assert {name: event[name].get("name", event[name].get("login")) for name in about} == about


@pytest.mark.node
@pytest.mark.parametrize(
    ("action", "about"),
    [
        ("opened", {}),
        ("edited", {}),
        ("synchronize", {"before": "0" * 40}),
        ("closed", {}),
        ("reopened", {}),
        ("ready_for_review", {}),
        ("converted_to_draft", {}),
        ("labeled", {"label": "bug"}),
        ("assigned", {"assignee": "tom"}),
    ],
)
def test_so_are_those_of_pull_requests(forge: Forge, pull: int, action: str, about: dict[str, Any]) -> None:
    if action == "closed":
        forge.merge(REPO, pull, "ada")
    if action == "converted_to_draft":
        forge.set_pull(REPO, pull, draft=True)
    event = forge.pull_request_event(REPO, pull, action, **about)
    assert webhook_errors(f"pull-request-{action.replace('_', '-')}", event) == []
    assert (event["number"], event["sender"]["login"]) == (pull, "ada")
    if action == "synchronize":
        assert (event["before"], event["after"]) == ("0" * 40, forge.branch_sha(REPO, "topic"))


@pytest.mark.node
@pytest.mark.parametrize("deleted", [False, True])
def test_so_is_one_from_a_fork(forge: Forge, from_fork: int, deleted: bool) -> None:
    if deleted:
        forge.delete_repository("eve/lib")
    event = forge.pull_request_event(REPO, from_fork)
    head = event["pull_request"]["head"]
    assert (head["label"], head["repo"] is None) == ("eve:fix", deleted)
    review = forge.review_event(REPO, from_fork, forge.review(REPO, from_fork, "ada", "Hm"))
    # Where the fork is gone, GitHub delivers null and describes an object.
    known = ["pull_request/head/repo"] if deleted else []
    for name, payload in (("pull-request-opened", event), ("pull-request-review-submitted", review)):
        fields = [error.partition(":")[0] for error in webhook_errors(name, payload)]
        assert fields in (known, [])


@pytest.mark.node
@pytest.mark.parametrize("body", ["", "Two things"])
def test_so_are_those_of_reviews(forge: Forge, pull: int, body: str) -> None:
    review = forge.review(REPO, pull, "tom", body, comments=[{"path": "calc.py", "line": 1, "body": "Why?"}])
    event = forge.review_event(REPO, pull, review)
    assert webhook_errors("pull-request-review-submitted", event) == []
    assert (event["review"]["state"], event["review"]["body"]) == ("commented", body or None)
    edited = forge.review_event(REPO, pull, review, "edited")
    assert webhook_errors("pull-request-review-edited", edited) == []
    verdict = forge.review(REPO, pull, "tom", "No", state="DISMISSED")
    dismissed = forge.review_event(REPO, pull, verdict, "dismissed")
    assert webhook_errors("pull-request-review-dismissed", dismissed) == []


@pytest.mark.node
@pytest.mark.parametrize("action", ["created", "edited", "deleted"])
def test_so_are_those_of_review_comments(forge: Forge, pull: int, action: str) -> None:
    first = forge.review_comment(REPO, pull, "tom", "calc.py", 1, body="Why?")
    reply = forge.reply(REPO, first, "ada", "/agent explain")
    event = forge.review_comment_event(REPO, reply, action)  # type: ignore[arg-type]  # parametrised
    assert webhook_errors(f"pull-request-review-comment-{action}", event) == []
    assert (event["comment"]["in_reply_to_id"], event["comment"]["line"]) == (first, 1)


@pytest.mark.node
def test_so_is_one_of_an_outdated_thread_and_of_a_whole_file(forge: Forge, pull: int) -> None:
    first = forge.review_comment(REPO, pull, "tom", "calc.py", 1, body="Why?")
    whole = forge.review_comment(REPO, pull, "tom", "calc.py", None, body="Why at all?")
    forge.commit(REPO, {"calc.py": "y = 2\n"}, branch="topic")
    for comment in (first, whole):
        event = forge.review_comment_event(REPO, comment)
        assert webhook_errors("pull-request-review-comment-created", event) == []
        assert event["comment"]["line"] is None


@pytest.mark.node
def test_so_are_those_of_actions(forge: Forge, pull: int) -> None:
    run = forge.add_run(REPO, event="pull_request", pull=pull, conclusion="failure")
    forge.add_job(REPO, run, conclusion="failure", steps=[Step("pytest", "failure")])
    event = forge.workflow_run_event(REPO, run)
    assert webhook_errors("workflow-run-completed", event) == []
    assert event["workflow_run"]["pull_requests"][0]["number"] == pull
    event = forge.workflow_dispatch_event(REPO, "ada", inputs={"instruction": "fix"})
    assert webhook_errors("workflow-dispatch", event) == []
    event = forge.repository_dispatch_event(REPO, "ada", "sample.collected", {"a": 1})
    assert webhook_errors("repository-dispatch-sample.collected", event) == []


def test_a_schedule_is_nobodys_doing(forge: Forge) -> None:
    event = forge.schedule_event(REPO)
    assert (event["schedule"], "sender" in event) == ("17 4 * * 1", False)
    assert event["repository"]["full_name"] == REPO


@pytest.mark.node
def test_so_are_pushes(forge: Forge) -> None:
    before = str(forge.branch_sha(REPO))
    forge.commit(REPO, {"a": "1", "calc.py": "y\n"}, message="One")
    after = forge.commit(REPO, {"README.md": None}, message="Two")
    event = forge.push_event(REPO, "ada", before=before)
    assert webhook_errors("push", event) == []
    assert [one["message"] for one in event["commits"]] == ["One", "Two"]
    assert (event["commits"][0]["added"], event["commits"][0]["modified"]) == (["a"], ["calc.py"])
    assert (event["head_commit"]["removed"], event["after"], event["forced"]) == (["README.md"], after, False)
    back = forge.push_event(REPO, "ada", before=after, after=before)
    assert (webhook_errors("push", back), back["forced"], back["head_commit"]) == ([], True, None)
    for expired in ({"before": "0" * 40}, {"before": after, "after": "0" * 40}):
        event = forge.push_event(REPO, "ada", **expired)  # type: ignore[arg-type]  # names
        assert webhook_errors("push", event) == []
        assert (event["created"], event["deleted"]) == ("after" not in expired, "after" in expired)


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

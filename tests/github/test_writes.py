"""What each write sends, that it may be repeated only where that is safe, and that a dry run sends none of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import responses
from github.InputGitTreeElement import InputGitTreeElement

from bot.contracts.pulls import Side
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.reviews import draft_comment
from tests.support.tables import ANN, NAME, REPO, TIME, Client, comment, writers

Web = responses.RequestsMock
SHA = "a" * 40
REVIEW = {"id": 3, "user": ANN, "body": "b", "state": "COMMENTED", "commit_id": SHA, "submitted_at": TIME}
REVIEW_COMMENT = comment(4, path="a.py", line=5, side="RIGHT", diff_hunk="@@", commit_id=SHA)
ISSUE = {
    "number": 8, "title": "t", "body": "b", "user": ANN, "html_url": "u", "state": "open", "locked": False,
    "created_at": TIME, "updated_at": TIME,
}  # fmt: skip
END = {"ref": "agent/x", "sha": SHA, "repo": {"full_name": NAME}}
PULL = {**ISSUE, "draft": True, "head": END, "base": END}
ENTRIES = [
    InputGitTreeElement("a", "100644", "blob", ""),
    InputGitTreeElement("b", "100755", "blob", sha=SHA),
    InputGitTreeElement("c", "100644", "blob", sha=None),
]
DRAFTS = [
    draft_comment("a.py", "one", 5),
    draft_comment("a.py", "two", 9, Side.LEFT, start_line=7),
    draft_comment("b.py", "three", 3, start_line=3),
]


@dataclass(frozen=True)
class Case:
    """One write: how it is asked for, what is sent, and whether it may be sent twice."""

    name: str
    write: Callable[[GitHub], object]
    verb: str
    path: str
    body: Any
    safe: bool
    answer: Any = None
    said: str = ""


CASES = [
    Case(
        "create_comment", lambda h: h.create_comment(7, "hi"), "POST", "/issues/7/comments",
        {"body": "hi"}, False, comment(1), "comment on octo/hello#7",
    ),
    Case(
        "edit_comment", lambda h: h.edit_comment(9, "hi"), "PATCH", "/issues/comments/9",
        {"body": "hi"}, True, comment(9), "edit comment 9 of octo/hello",
    ),
    Case(
        "delete_comment", lambda h: h.delete_comment(9), "DELETE", "/issues/comments/9",
        None, True, None, "delete comment 9 of octo/hello",
    ),
    Case(
        "add_reaction", lambda h: h.add_reaction(9, "eyes"), "POST", "/issues/comments/9/reactions",
        {"content": "eyes"}, True, {"id": 1}, "react to comment 9 of octo/hello",
    ),
    Case(
        "add_reaction", lambda h: h.add_reaction(9, "eyes", on_lines=True), "POST",
        "/pulls/comments/9/reactions", {"content": "eyes"}, True, {"id": 1},
        "react to review comment 9 of octo/hello",
    ),
    Case(
        "open_pull",
        lambda h: h.open_pull(title="t\nu", body="b", head="agent/x", base="main", draft=True), "POST",
        "/pulls", {"title": "t u", "body": "b", "head": "agent/x", "base": "main", "draft": True}, True, PULL,
        "open a pull request in octo/hello",
    ),
    Case(
        "edit_pull", lambda h: h.edit_pull(8, title="t", body="b"), "PATCH", "/pulls/8",
        {"title": "t", "body": "b"}, True, PULL, "edit pull request octo/hello#8",
    ),
    Case(
        "request_review", lambda h: h.request_review(8, "ann"), "POST", "/pulls/8/requested_reviewers",
        {"reviewers": ["ann"]}, True, PULL, "ask for a review of pull request octo/hello#8",
    ),
    Case(
        "create_review",
        lambda h: h.create_review(7, sha=SHA, body="b", event="COMMENT", drafts=DRAFTS), "POST",
        "/pulls/7/reviews",
        {
            "commit_id": SHA, "body": "b", "event": "COMMENT",
            "comments": [
                {"path": "a.py", "body": "one", "line": 5, "side": "RIGHT"},
                {"path": "a.py", "body": "two", "line": 9, "side": "LEFT", "start_line": 7, "start_side": "LEFT"},
                {"path": "b.py", "body": "three", "line": 3, "side": "RIGHT"},
            ],
        }, False, REVIEW, "review octo/hello#7",
    ),
    Case(
        "reply_to_review_comment", lambda h: h.reply_to_review_comment(7, 4, "hi"), "POST",
        "/pulls/7/comments/4/replies", {"body": "hi"}, False, REVIEW_COMMENT,
        "reply to review comment 4 on octo/hello#7",
    ),
    Case(
        "edit_review_comment", lambda h: h.edit_review_comment(4, "hi"), "PATCH", "/pulls/comments/4",
        {"body": "hi"}, True, REVIEW_COMMENT, "edit review comment 4 of octo/hello",
    ),
    Case(
        "edit_review", lambda h: h.edit_review(7, 4, "hi"), "PUT", "/pulls/7/reviews/4",
        {"body": "hi"}, True, REVIEW, "edit review 4 of octo/hello#7",
    ),
    Case(
        "dismiss_review", lambda h: h.dismiss_review(7, 4, "over"), "PUT", "/pulls/7/reviews/4/dismissals",
        {"message": "over"}, True, REVIEW, "dismiss review 4 of octo/hello#7",
    ),
    Case(
        "create_check_run",
        lambda h: h.create_check_run(
            name="review", head_sha=SHA, title="t", summary="s", external_id="key"
        ), "POST", "/check-runs",
        {
            "name": "review", "head_sha": SHA, "external_id": "key", "status": "completed", "conclusion": "neutral",
            "output": {"title": "t", "summary": "s"},
        }, False, {"id": 9}, "report a check in octo/hello",
    ),
    Case(
        "create_blob",
        lambda h: h.create_blob(b"\xff"),
        "POST",
        "/git/blobs",
        {"content": "/w==", "encoding": "base64"},
        True,
        {"sha": SHA},
        "store a file in octo/hello",
    ),
    Case(
        "create_tree",
        lambda h: h.create_tree(SHA, ENTRIES),
        "POST",
        "/git/trees",
        {
            "base_tree": SHA,
            "tree": [
                {"path": "a", "mode": "100644", "type": "blob", "content": ""},
                {"path": "b", "mode": "100755", "type": "blob", "sha": SHA},
                {"path": "c", "mode": "100644", "type": "blob", "sha": None},
            ],
        },
        True,
        {"sha": SHA},
        "store a tree in octo/hello",
    ),
    Case(
        "create_commit",
        lambda h: h.create_commit(message="m", tree=SHA, parent=SHA),
        "POST",
        "/git/commits",
        {"message": "m", "tree": SHA, "parents": [SHA]},
        True,
        {"sha": SHA},
        "make a commit in octo/hello",
    ),
    Case(
        "cancel_run", lambda h: h.cancel_run(6), "POST", "/actions/runs/6/cancel", None, True, {},
        "cancel run 6 of octo/hello",
    ),
    Case(
        "dispatch_workflow", lambda h: h.dispatch_workflow("ci.yml", "agent/x"), "POST",
        "/actions/workflows/ci.yml/dispatches", {"ref": "agent/x", "inputs": {}}, False, None,
        "start the workflow ci.yml in octo/hello",
    ),
    Case(
        "create_issue", lambda h: h.create_issue(title="t", body="b", labels=["x"]), "POST", "/issues",
        {"title": "t", "body": "b", "labels": ["x"]}, False, ISSUE,
        "open an issue in octo/hello",
    ),
    Case(
        "edit_issue", lambda h: h.edit_issue(8, body="b"), "PATCH", "/issues/8", {"body": "b"}, True, ISSUE,
        "edit issue octo/hello#8",
    ),
    Case(
        "close_issue", lambda h: h.close_issue(8, "not_planned"), "PATCH", "/issues/8",
        {"state": "closed", "state_reason": "not_planned"}, True, ISSUE, "edit issue octo/hello#8",
    ),
    Case(
        "add_labels", lambda h: h.add_labels(8, ["x", "y"]), "POST", "/issues/8/labels",
        {"labels": ["x", "y"]}, True, [], "label octo/hello#8",
    ),
    Case(
        "remove_label", lambda h: h.remove_label(8, "a/b c"), "DELETE", "/issues/8/labels/a%2Fb%20c", None,
        True, [], "take the label a/b c off octo/hello#8",
    ),
]  # fmt: skip
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def answer(web: Web, case: Case) -> None:
    if case.answer is None:
        web.add(case.verb, f"{REPO}{case.path}", status=204)
    else:
        web.add(case.verb, f"{REPO}{case.path}", json=case.answer)


@each
def test_what_is_sent(web: Web, client: Client, case: Case):
    answer(web, case)
    case.write(client.github)
    (call,) = web.calls
    assert (json.loads(call.request.body) if call.request.body else None) == case.body


@each
def test_a_write_is_repeated_only_where_that_is_safe(web: Web, client: Client, case: Case):
    web.add(case.verb, f"{REPO}{case.path}", status=502, json={})
    answer(web, case)
    if case.safe:
        case.write(client.github)
    else:
        with pytest.raises(GitHubError, match="502"):
            case.write(client.github)
    assert len(web.calls) == (2 if case.safe else 1)


@each
def test_a_dry_run_says_it_and_sends_nothing(web: Web, client: Client, case: Case):
    said: list[str] = []
    case.write(client.github.dry(said.append))
    assert [one.partition(":\n")[0] for one in said] == [f"would {case.said}"]
    assert len(web.calls) == 0


def test_every_write_of_the_client_has_a_case():
    assert writers() == {case.name for case in CASES}


def test_a_dry_run_shows_the_whole_review(client: Client):
    said: list[str] = []
    dry = client.github.dry(said.append)
    dry.create_review(7, sha=SHA, body="Summary", event="COMMENT", drafts=DRAFTS)
    assert "Summary\n" in said[0]
    assert "a.py:7-9 (LEFT)\n        two" in said[0]


def test_a_dry_run_shows_the_fields_of_a_write(client: Client):
    said: list[str] = []
    client.github.dry(said.append).close_issue(8, "not_planned")
    assert said == ["would edit issue octo/hello#8:\n    state: closed\n    state_reason: not_planned"]


def test_a_label_that_is_not_there_is_off_already(web: Web, client: Client):
    web.delete(f"{REPO}/issues/8/labels/x", status=404, json={"message": "Label does not exist"})
    client.github.remove_label(8, "x")


def test_a_run_that_is_over_cannot_be_cancelled(web: Web, client: Client):
    said = "Cannot cancel a workflow run that is completed."
    web.post(f"{REPO}/actions/runs/6/cancel", status=409, json={"message": said})
    with pytest.raises(GitHubError, match="could not carry out an attempt to cancel run 6") as caught:
        client.github.cancel_run(6)
    assert caught.value.status == 409

"""What each write sends, that it may be repeated only where that is safe, and that a dry run sends none of it; what
failed on a commit, and check runs of our own."""

import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import responses
from github.InputGitTreeElement import InputGitTreeElement

from bot.contracts.pulls import Annotation, Side
from bot.github.checks import DETAILED, LINE_LIMIT, LINES, MOST_STEPS, failed_steps, lines_of
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.reviews import draft_comment
from tests.support.tables import ANN, NAME, REPO, TIME, Client, comment, next_page, writers

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
    Case("create_comment", lambda h: h.create_comment(7, "hi"), "POST", "/issues/7/comments", {"body": "hi"}, False,
         comment(1), "comment on octo/hello#7"),
    Case("edit_comment", lambda h: h.edit_comment(9, "hi"), "PATCH", "/issues/comments/9", {"body": "hi"}, True,
         comment(9), "edit comment 9 of octo/hello"),
    Case("delete_comment", lambda h: h.delete_comment(9), "DELETE", "/issues/comments/9", None, True, None,
         "delete comment 9 of octo/hello"),
    Case("add_reaction", lambda h: h.add_reaction(9, "eyes"), "POST", "/issues/comments/9/reactions",
         {"content": "eyes"}, True, {"id": 1}, "react to comment 9 of octo/hello"),
    Case("add_reaction", lambda h: h.add_reaction(9, "eyes", on_lines=True), "POST", "/pulls/comments/9/reactions",
         {"content": "eyes"}, True, {"id": 1}, "react to review comment 9 of octo/hello"),
    Case("open_pull", lambda h: h.open_pull(title="t\nu", body="b", head="agent/x", base="main", draft=True), "POST",
         "/pulls", {"title": "t u", "body": "b", "head": "agent/x", "base": "main", "draft": True}, True, PULL,
         "open a pull request in octo/hello"),
    Case("edit_pull", lambda h: h.edit_pull(8, title="t", body="b"), "PATCH", "/pulls/8", {"title": "t", "body": "b"},
         True, PULL, "edit pull request octo/hello#8"),
    Case("request_review", lambda h: h.request_review(8, "ann"), "POST", "/pulls/8/requested_reviewers",
         {"reviewers": ["ann"]}, True, PULL, "ask for a review of pull request octo/hello#8"),
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
    Case("reply_to_review_comment", lambda h: h.reply_to_review_comment(7, 4, "hi"), "POST",
         "/pulls/7/comments/4/replies", {"body": "hi"}, False, REVIEW_COMMENT,
         "reply to review comment 4 on octo/hello#7"),
    Case("edit_review_comment", lambda h: h.edit_review_comment(4, "hi"), "PATCH", "/pulls/comments/4", {"body": "hi"},
         True, REVIEW_COMMENT, "edit review comment 4 of octo/hello"),
    Case("edit_review", lambda h: h.edit_review(7, 4, "hi"), "PUT", "/pulls/7/reviews/4", {"body": "hi"}, True, REVIEW,
         "edit review 4 of octo/hello#7"),
    Case("dismiss_review", lambda h: h.dismiss_review(7, 4, "over"), "PUT", "/pulls/7/reviews/4/dismissals",
         {"message": "over"}, True, REVIEW, "dismiss review 4 of octo/hello#7"),
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
    Case("create_blob", lambda h: h.create_blob(b"\xff"), "POST", "/git/blobs",
         {"content": "/w==", "encoding": "base64"}, True, {"sha": SHA}, "store a file in octo/hello"),
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
    Case("create_commit", lambda h: h.create_commit(message="m", tree=SHA, parents=[SHA]), "POST", "/git/commits",
         {"message": "m", "tree": SHA, "parents": [SHA]}, True, {"sha": SHA}, "make a commit in octo/hello"),
    Case("cancel_run", lambda h: h.cancel_run(6), "POST", "/actions/runs/6/cancel", None, True, {},
         "cancel run 6 of octo/hello"),
    Case("dispatch_workflow", lambda h: h.dispatch_workflow("ci.yml", "agent/x"), "POST",
         "/actions/workflows/ci.yml/dispatches", {"ref": "agent/x", "inputs": {}}, False, None,
         "start the workflow ci.yml in octo/hello"),
    Case("create_issue", lambda h: h.create_issue(title="t", body="b", labels=["x"]), "POST", "/issues",
         {"title": "t", "body": "b", "labels": ["x"]}, False, ISSUE, "open an issue in octo/hello"),
    Case("edit_issue", lambda h: h.edit_issue(8, body="b"), "PATCH", "/issues/8", {"body": "b"}, True, ISSUE,
         "edit issue octo/hello#8"),
    Case("close_issue", lambda h: h.close_issue(8, "not_planned"), "PATCH", "/issues/8",
         {"state": "closed", "state_reason": "not_planned"}, True, ISSUE, "edit issue octo/hello#8"),
    Case("add_labels", lambda h: h.add_labels(8, ["x", "y"]), "POST", "/issues/8/labels", {"labels": ["x", "y"]}, True,
         [], "label octo/hello#8"),
    Case("remove_label", lambda h: h.remove_label(8, "a/b c"), "DELETE", "/issues/8/labels/a%2Fb%20c", None, True, [],
         "take the label a/b c off octo/hello#8"),
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


CHECKS = f"{REPO}/commits/{SHA}/check-runs"


def check(number: int, conclusion: str | None = "failure", **fields: Any) -> dict[str, Any]:
    return {
        "id": number, "name": f"check {number}", "status": "completed", "conclusion": conclusion,
        "html_url": f"https://x/{number}", "details_url": f"https://x/octo/hello/actions/runs/1/job/{number}",
        "app": {"slug": "github-actions"}, "output": {"title": None, "summary": None, "annotations_count": 0},
        **fields,
    }  # fmt: skip


def runs(*found: dict[str, Any]) -> dict[str, Any]:
    return {"total_count": len(found), "check_runs": list(found)}


def test_a_failed_job_with_its_annotations_and_the_log_of_its_failed_step(web: Web, client: Client):
    output = {"title": "Tests", "summary": "1 failed", "annotations_count": 2}
    web.get(CHECKS, json=runs(check(1, "success"), check(2, output=output), check(3, None)))
    rows = [
        {"path": "a.py", "start_line": 3, "annotation_level": "failure", "message": "boom", "title": "T"},
        {"path": ".github", "start_line": 1, "annotation_level": "warning", "message": "old", "title": None},
    ]
    web.get(f"{REPO}/check-runs/2/annotations", json=rows)
    web.get(f"{REPO}/actions/jobs/2/logs", body=LOG)
    (found,) = client.github.failed_checks(SHA)
    assert (found.name, found.conclusion) == ("check 2", "failure")
    assert (found.url, found.summary) == ("https://x/2", "Tests\n\n1 failed")
    boom, old = Annotation("a.py", 3, "failure", "T: boom"), Annotation(".github", 1, "warning", "old")
    assert found.annotations == (boom, old)
    assert [step.name for step in found.steps] == ["make test", "./report.sh"]
    assert found.steps[0].log.endswith("Error: Process completed with exit code 2.")
    assert len(web.calls) == 3


@pytest.mark.parametrize("conclusion", ["success", "neutral", "skipped", "cancelled", "stale"])
def test_what_did_not_fail_is_no_failure(web: Web, client: Client, conclusion: str):
    web.get(CHECKS, json=runs(check(1, conclusion)))
    assert client.github.failed_checks(SHA) == []


@pytest.mark.parametrize("conclusion", ["failure", "timed_out", "startup_failure", "action_required"])
def test_a_check_of_another_app_has_no_log(web: Web, client: Client, conclusion: str):
    web.get(CHECKS, json=runs(check(1, conclusion, app={"slug": "other-ci"})))
    (found,) = client.github.failed_checks(SHA)
    assert (found.conclusion, found.steps) == (conclusion, ())
    assert len(web.calls) == 1


@pytest.mark.parametrize(("status", "said"), [(410, "it no longer exists"), (403, "does not allow")])
def test_a_log_that_cannot_be_read_says_why(web: Web, client: Client, status: int, said: str):
    web.get(CHECKS, json=runs(check(1)))
    web.get(f"{REPO}/actions/jobs/1/logs", status=status, json={"message": "no"})
    (found,) = client.github.failed_checks(SHA)
    assert said in found.steps[0].log


def test_many_failures_are_named_and_a_few_are_read(web: Web, client: Client):
    web.get(CHECKS, json=runs(*map(check, range(1, 101))), headers=next_page(CHECKS, 2))
    web.get(CHECKS, json=runs(*map(check, range(101, 131))))
    for number in range(1, DETAILED + 1):
        web.get(f"{REPO}/actions/jobs/{number}/logs", body=LOG)
    found = client.github.failed_checks(SHA)
    assert len(found) == 130
    assert [bool(one.steps) for one in found] == [True] * DETAILED + [False] * (130 - DETAILED)
    assert len(web.calls) == 2 + DETAILED


# Their logs


LOG = """\
\ufeff2026-01-02T03:04:05.1000000Z ##[group]Run actions/checkout@v4
2026-01-02T03:04:05.2000000Z with:
2026-01-02T03:04:05.3000000Z ##[endgroup]
2026-01-02T03:04:06.0000000Z checked out
2026-01-02T03:04:06.1000000Z ##[group]Run make test
2026-01-02T03:04:06.2000000Z \x1b[36;1mmake test\x1b[0m
2026-01-02T03:04:06.3000000Z ##[endgroup]
2026-01-02T03:04:06.5000000Z ##[error]a.py: unused import
2026-01-02T03:04:07.0000000Z test_total ... \x1b[31mFAIL\x1b[0m
2026-01-02T03:04:07.1000000Z  50%\r100% done
a line that a tool wrote without a time
2026-01-02T03:04:08.0000000Z ##[warning]slow
2026-01-02T03:04:08.1000000Z ##[error]Process completed with exit code 2.
2026-01-02T03:04:08.1500000Z what the runner does after it
2026-01-02T03:04:08.2000000Z ##[group]Run ./report.sh
2026-01-02T03:04:08.3000000Z reported
2026-01-02T03:04:09.0000000Z ##[error]The report is gone
2026-01-02T03:04:09.1000000Z Post job cleanup.
"""


def log_of(text: str | bytes) -> str:
    (found,) = failed_steps([text.encode() if isinstance(text, str) else text])
    return found.log


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_step_is_what_stands_between_its_run_and_its_last_error(piece: int):
    raw = LOG.encode()
    test, report = failed_steps(raw[i : i + piece] for i in range(0, len(raw), piece))
    assert (test.name, report.name) == ("make test", "./report.sh")
    assert test.log.split("\n") == [
        "Run make test", "make test", "Error: a.py: unused import", "test_total ... FAIL", "100% done",
        "a line that a tool wrote without a time", "Warning: slow",
        "Error: Process completed with exit code 2.",
    ]  # fmt: skip
    assert report.log.split("\n") == ["Run ./report.sh", "reported", "Error: The report is gone"]


def test_of_many_steps_the_last_ones_are_kept():
    text = "".join(f"##[group]Run {n}\n##[error]bad\n" for n in range(9))
    assert [step.name for step in failed_steps([text.encode()])] == [str(n) for n in range(9)][-MOST_STEPS:]


def test_the_last_lines_are_kept_without_an_error_too():
    lines = [f"2026-01-02T03:04:07.0Z line {n}" for n in range(1000)]
    assert log_of("\n".join(lines)).split("\n") == [f"line {n}" for n in range(1000 - LINES, 1000)]
    assert failed_steps([]) == ()


def test_long_lines_are_cut_and_bytes_that_are_no_text_are_shown_as_such():
    assert len(log_of("2026-01-02T03:04:07.0Z " + "x" * 10_000_000)) <= LINE_LIMIT + 2
    assert log_of(b"2026-01-02T03:04:07.0Z \xff\x00\xc3\xa4") == "\ufffdä"


def test_a_log_ends_with_or_without_a_line_end():
    assert list(lines_of([b"a\nb"])) == list(lines_of([b"a\n", b"b\n"])) == ["a", "b"]


@pytest.mark.parametrize("piece", [b"2026-01-02T03:04:07.0Z one line\n" * 2000, b"no line end at all" * 4000])
def test_a_huge_log_is_not_held_in_memory(piece: bytes):
    def pieces() -> Iterator[bytes]:
        yield from itertools.repeat(piece, 20)

    tracemalloc.start()
    try:
        failed_steps(pieces())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < 20 * len(piece)

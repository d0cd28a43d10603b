"""What the forge need not play: rate limits, server errors, odd answers, many pages, review threads by GraphQL; and how
requests are sent: conditional reads, spacing, and what is counted."""

import json
import logging
import subprocess
import sys
import traceback
from typing import Any

import pytest
import requests
import responses

from bot.contracts.errors import ExitCode
from bot.contracts.pulls import Side
from bot.github.client import connect
from bot.github.errors import Failure, GitHubError
from bot.github.retry import ATTEMPTS, LONGEST_WAIT, SECONDARY_WAIT, Pace, wait_before_retry
from bot.github.reviews import draft_comment
from tests.github.test_writes import PULL
from tests.support.tables import API, NAME, REPO, TIME, Client, comment, next_page, repository

Web = responses.RequestsMock
COMMENTS = f"{REPO}/issues/7/comments"


def test_a_failing_page_is_repeated_alone(web: Web, client: Client):
    web.get(COMMENTS, json=[comment(n) for n in range(100)], headers=next_page(COMMENTS, 2))
    web.get(COMMENTS, status=502, json={"message": "Server Error"})
    web.get(COMMENTS, json=[comment(100)])
    assert [c.id for c in client.github.comments(7)] == list(range(101))
    assert len(web.calls) == 3


def test_a_deleted_account_is_a_ghost(web: Web, client: Client):
    web.get(COMMENTS, json=[comment(1, user=None, body=None)])
    (found,) = client.github.comments(7)
    assert (found.author.login, found.author.id, found.body) == ("ghost", 0, "")


@pytest.mark.parametrize(
    ("headers", "message", "waits"),
    [
        ({"Retry-After": "3"}, "You have exceeded a secondary rate limit", [3.0]),
        ({"Retry-After": "4"}, "abuse", [4.0]),
        ({}, "You have exceeded a secondary rate limit. Please wait a few minutes.", [60.0]),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000009"}, "API rate limit exceeded", [10.0]),
    ],
)
def test_rate_limits_are_waited_out(
    web: Web, client: Client, headers: dict[str, str], message: str, waits: list[float]
):
    web.get(REPO, status=403, json={"message": message}, headers=headers)
    web.get(REPO, json=repository())
    assert client.github.repository.default_branch == "main"
    assert sum(client.slept) == sum(waits)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"message": "Bad credentials"}, "did not accept the token"),
        (403, {"message": "Resource not accessible by integration"}, "does not allow"),
        (403, {"message": "Repository was archived so is read-only."}, "unarchive it"),
        (404, {"message": "Not Found"}, "the token may not see it"),
        (410, {"message": "This issue was deleted"}, "it no longer exists"),
    ],
)
def test_refusals_are_one_sentence(
    web: Web, client: Client, status: int, body: dict[str, Any], expected: str
):
    web.post(COMMENTS, status=status, json=body)
    with pytest.raises(GitHubError) as caught:
        client.github.create_comment(7, "hello")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE


def test_control_characters_do_not_reach_the_terminal(web: Web, client: Client):
    web.get(REPO, status=403, json={"message": "no\x1b[2J\r\n::error::x"})
    with pytest.raises(GitHubError) as caught:
        client.github.current_name()
    assert "\x1b" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [403, 404])
def test_an_installation_token_has_no_user(web: Web, client: Client, status: int):
    web.get(f"{API}/user", status=status, json={"message": "Resource not accessible by integration"})
    assert client.github.me is None
    assert client.github.me is None
    assert len(web.calls) == 1


@pytest.mark.parametrize(
    ("level", "role", "private", "listed", "collaborator"),
    [
        ("admin", "admin", False, None, True),
        ("write", "maintain", False, None, True),
        ("read", "triage", False, None, True),
        ("read", "read", True, None, True),
        ("read", "read", False, 204, True),
        ("read", "read", False, 404, False),
        ("read", "read", False, 403, False),
        ("none", "none", True, None, False),
    ],
)
def test_who_is_a_collaborator(
    web: Web, client: Client, level: str, role: str, private: bool, listed: int | None, collaborator: bool
):
    web.get(REPO, json=repository(private=private))
    answer = {"permission": level, "role_name": role, "user": {"login": "ann", "id": 5, "type": "User"}}
    web.get(f"{REPO}/collaborators/ann/permission", json=answer)
    if listed is not None:
        web.get(f"{REPO}/collaborators/ann", status=listed)
    found = client.github.permission("ann")
    assert (found.level, found.user_id) == (level, 5)
    assert (found.collaborator, found.private) == (collaborator, private)


def test_an_unknown_login_has_no_permission(web: Web, client: Client):
    web.get(REPO, json=repository())
    web.get(f"{REPO}/collaborators/a%2Fb/permission", status=404, json={"message": "a/b is not a user"})
    assert client.github.permission("a/b").level == "none"


GRAPHQL = f"{API}/graphql"


def node(number: int, login: str | None = "ann", kind: str = "User") -> dict[str, Any]:
    author = {"__typename": kind, "login": login} if login else None
    times = {"createdAt": TIME, "updatedAt": TIME}
    return {
        "fullDatabaseId": str(number),
        "author": author,
        "body": f"text {number}",
        "bodyHTML": f"<p>text {number}</p>",
        "diffHunk": "@@",
        **times,
    }


def connection(nodes: list[dict[str, Any]], end: str = "") -> dict[str, Any]:
    return {"pageInfo": {"hasNextPage": bool(end), "endCursor": end or None}, "nodes": nodes}


def thread(comments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "T1", "isResolved": False, "isOutdated": False, "path": "a.py", "line": 5, "startLine": None,
        "diffSide": "RIGHT", "subjectType": "LINE", "comments": comments, **fields,
    }  # fmt: skip


def threads(nodes: list[dict[str, Any]], end: str = "") -> dict[str, Any]:
    return {"data": {"repository": {"pullRequest": {"reviewThreads": connection(nodes, end)}}}}


def sent(web: Web, index: int) -> Any:
    return json.loads(web.calls[index].request.body or b"")["variables"]


def test_what_graphql_tells(web: Web, client: Client):
    nodes = [
        thread(connection([node(1), node(2, "helper", "Bot"), node(3, None)]), startLine=3, isResolved=True),
        thread(connection([node(4)]), line=None, startLine=3, isOutdated=True, diffSide="LEFT"),
        thread(connection([node(5)]), line=1, subjectType="FILE"),
        thread(connection([])),
    ]
    web.post(GRAPHQL, json=threads(nodes))
    first, second, third = client.github.review_threads(7)
    assert (first.id, first.line, first.start_line, first.resolved) == (1, 5, 3, True)
    assert [one.author for one in first.comments] == ["ann", "helper[bot]", "ghost"]
    assert (second.line, second.start_line, second.side, second.outdated) == (0, 0, Side.LEFT, True)
    assert (third.line, third.outdated) == (0, False)
    assert len(web.calls) == 1


def test_all_pages_of_threads_are_read(web: Web, client: Client):
    web.post(GRAPHQL, json=threads([thread(connection([node(1)]))], end="t1"))
    web.post(GRAPHQL, json=threads([thread(connection([node(4)]))]))
    assert [one.id for one in client.github.review_threads(7)] == [1, 4]
    assert [sent(web, n)["after"] for n in range(2)] == [None, "t1"]


def test_the_thread_that_holds_a_comment(web: Web, client: Client):
    nodes = [thread(connection([node(1)])), thread(connection([node(2), node(3)]))]
    web.post(GRAPHQL, json=threads(nodes))
    found = client.github.review_thread(7, 3)
    assert found is not None
    assert found.id == 2
    assert client.github.review_thread(7, 4) is None


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (403, {"message": "Resource not accessible by personal access token"}, "does not allow this token"),
        (404, {"message": "Not Found"}, "found nothing"),
        (200, {"data": {"repository": None}, "errors": [{"type": "FORBIDDEN", "message": "no"}]}, "403: no"),
        (200, {"errors": [{"message": "Resource not accessible by integration"}]}, "403: Resource"),
        (200, {"errors": [{"type": "INSUFFICIENT_SCOPES", "message": "needs read:org"}]}, "403: needs"),
        (200, {"errors": [{"message": "Field 'fullDatabaseId' doesn't exist on type 'X'"}]}, "400: Field"),
        (200, {"data": {"repository": {"pullRequest": None}}}, "to use GraphQL: reviewThreads"),
        (401, {"message": "Bad credentials"}, "did not accept the token"),
        (500, {}, "500"),
        (502, {}, "502"),
    ],
)
def test_a_refusal_is_a_sentence(web: Web, client: Client, status: int, answer: dict[str, Any], words: str):
    web.post(GRAPHQL, status=status, json=answer)
    with pytest.raises(GitHubError, match=words):
        client.github.review_threads(7)


def test_a_rate_limit_of_graphql_is_waited_out(web: Web, client: Client):
    refusal = {"errors": [{"type": "RATE_LIMITED", "message": "Too many points"}]}
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000005"}
    web.post(GRAPHQL, json=refusal, headers=headers)
    web.post(GRAPHQL, json=threads([]))
    assert client.github.review_threads(7) == []
    assert client.slept == [6.0]


def test_on_github_enterprise_graphql_lies_beside_rest(web: Web):
    web.post("https://ghe.test:443/api/graphql", json=threads([]))
    assert connect("token", "https://ghe.test/api/v3", NAME).review_threads(7) == []


def bodies(client: Client) -> list[str]:
    return [one.body for one in client.github.comments(7)]


def test_a_next_page_on_another_host_is_asked_of_our_own(web: Web, client: Client):
    web.get(COMMENTS, json=[comment(1)], headers={"Link": '<https://evil.test/x?page=2>; rel="next"'})
    web.get(f"{API}/x", json=[comment(2)])
    assert bodies(client) == ["text 1", "text 2"]


def test_pages_of_github_enterprise_are_below_its_api(web: Web):
    github = connect("token", "https://ghe.test/api/v3", NAME)
    path = "https://ghe.test:443/api/v3/repos/octo/hello/issues/7/comments"
    web.get(path, json=[comment(1)], headers={"Link": '<https://ghe.test/api/v3/more?page=2>; rel="next"'})
    web.get("https://ghe.test:443/api/v3/more", json=[comment(2)])
    assert [one.id for one in github.comments(7)] == [1, 2]
    web.replace("GET", path, json=[comment(1)], headers={"Link": '<https://ghe.test/else>; rel="next"'})
    with pytest.raises(GitHubError, match="a next page outside of the API"):
        list(github.comments(7))


def test_pygithub_neither_pauses_nor_repeats_by_itself(client: Client):
    kept = client.github.requester.kwargs
    assert (kept["seconds_between_requests"], kept["seconds_between_writes"], kept["retry"]) == (0, 0, None)


def test_pages_are_fetched_as_they_are_taken(web: Web, client: Client):
    web.get(COMMENTS, json=[comment(n) for n in range(100)], headers=next_page(COMMENTS, 2))
    assert next(client.github.comments(7)).id == 0
    assert len(web.calls) == 1


def test_writes_are_a_second_apart_and_reads_are_not(web: Web):
    client = Client(between_writes=1.0)
    web.post(COMMENTS, json=comment(1))
    web.get(COMMENTS, json=[])
    client.github.create_comment(7, "one")
    assert bodies(client) == bodies(client) == []
    assert client.slept == []
    client.github.create_comment(7, "two")
    assert client.slept == [1.0]


@pytest.mark.parametrize(
    ("headers", "when"),
    [
        ({"Retry-After": "3600"}, "in 3600 seconds"),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1792567680"}, "after 2026-10-21 07:28 UTC"),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9e99"}, "later"),
    ],
)
def test_a_limit_too_far_off_says_when(web: Web, client: Client, headers: dict[str, str], when: str):
    web.get(REPO, status=429, json={"message": "slow"}, headers=headers)
    with pytest.raises(GitHubError, match=f"try again {when}"):
        client.github.current_name()
    assert all(wait <= 300 for wait in client.slept)


def test_a_body_too_long_for_github_is_cut(web: Web, client: Client):
    web.post(COMMENTS, json=comment(1))
    client.github.create_comment(7, "ä" * 70_000)
    sent = web.calls[0].request.body or b""
    assert len(json.loads(sent)["body"]) <= 65_536


@pytest.mark.parametrize("body", ['{"id": 1}', "[1]", '[{"id": "x"}]', "null", '"text"', "[]x"])
def test_an_answer_of_another_shape_is_a_sentence(web: Web, client: Client, body: str):
    web.get(COMMENTS, body=body)
    with pytest.raises(GitHubError, match="to read issues/7/comments of octo/hello"):
        bodies(client)


def test_a_write_follows_a_repository_that_moved(web: Web, client: Client):
    there = f"{API}/repositories/9/issues/7/comments"
    web.post(COMMENTS, status=307, json={"message": "Moved"}, headers={"Location": there.replace(":443", "")})
    sent = responses.matchers.json_params_matcher({"body": "hello"})
    web.post(there, json=comment(1, body="hello"), match=[sent])
    assert client.github.create_comment(7, "hello").id == 1


@pytest.mark.parametrize(
    "there", ["https://other.test/repositories/9", "http://api.github.test/repositories/9", ""]
)
def test_but_never_to_another_server(web: Web, client: Client, there: str):
    web.post(COMMENTS, status=307, json={"message": "Moved"}, headers={"Location": there})
    with pytest.raises(GitHubError, match="use its new name"):
        client.github.create_comment(7, "hello")
    assert len(web.calls) == 1


def test_a_redirect_is_followed_once(web: Web, client: Client):
    web.post(COMMENTS, status=307, json={"message": "Moved"}, headers={"Location": COMMENTS})
    with pytest.raises(GitHubError, match="use its new name"):
        client.github.create_comment(7, "hello")
    assert len(web.calls) == 2


def test_an_api_that_lies_elsewhere_is_a_sentence(web: Web, client: Client):
    web.get(REPO, status=301, headers={"Location": "https://other.test/repos/octo/hello"})
    with pytest.raises(GitHubError, match="use its new name"):
        client.github.current_name()


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        (["Line could not be resolved", "Line could not be resolved"], "Line could not be resolved)"),
        ("Pull request review thread line is invalid", "line is invalid"),
        ([{"resource": "PullRequest", "field": "base", "code": "invalid"}], "PullRequest base is invalid"),
        ([{"resource": "Issue", "field": "body", "code": "missing_field"}], "Issue body is missing"),
        ([{"resource": "Label", "field": "name", "code": "already_exists"}], "Label name exists already"),
        ([{"resource": "Issue", "code": "custom", "message": "body is too long"}], "body is too long"),
        (None, "(422: Unprocessable Entity)"),
    ],
)
def test_a_refused_review_says_why(web: Web, client: Client, errors: object, said: str):
    refusal = {"message": "Unprocessable Entity", "errors": errors}
    web.post(f"{REPO}/pulls/7/reviews", status=422, json=refusal)
    with pytest.raises(GitHubError) as caught:
        draft = draft_comment("a.py", "text", 3)
        client.github.create_review(7, sha="a" * 40, body="b", event="COMMENT", drafts=[draft])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_head_that_github_does_not_see_yet_is_tried_again(web: Web, client: Client):
    refusal = {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}
    web.post(f"{REPO}/pulls", status=422, json=refusal)
    web.post(f"{REPO}/pulls", status=201, json=PULL)
    fields = {"title": "t", "body": "b", "head": "agent/x", "base": "main"}
    assert client.github.open_pull(**fields, draft=True).number == 8
    assert client.slept == [1.0]


def test_the_token_is_in_no_error_or_log(web: Web, client: Client, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    web.get(REPO, status=500, json={"message": "oops"})
    web.get(f"{REPO}/issues/7", body=requests.ConnectionError("secret-token-value"))
    web.get(f"{REPO}/actions/artifacts/5/zip", body=requests.ConnectionError("secret-token-value"))
    said = [repr(client.github)]
    for ask in (
        lambda: client.github.repository,
        lambda: client.github.issue(7),
        lambda: client.github.download_artifact(5, 10),
    ):
        with pytest.raises(GitHubError) as caught:
            ask()
        said += [*traceback.format_exception(caught.value), repr(caught.value.failure)]
    assert all("secret-token-value" not in text for text in [*said, caplog.text])


def test_local_verbs_import_neither_pygithub_nor_requests():
    code = (
        "import sys, bot.cli.verb_command, bot.session.local.fix\n"
        "import bot.github.tokens\n"
        "print([name for name in ('github', 'requests', 'jwt', 'cryptography') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# How long a wait may be


NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("failure", "attempt", "safe", "wait"),
    [
        *((Failure(status, "oops"), 1, True, 0.5) for status in (0, 500, 502, 503, 504)),
        # A write that may have arrived is not repeated.
        *((Failure(status, "oops"), 1, False, None) for status in (0, 500, 502)),
        *((Failure(status, "no"), 1, True, None) for status in (400, 401, 403, 404, 409, 410, 422)),
        (Failure(403, "slow down", retry_after=7), 1, False, 7),
        (Failure(403, "API rate limit exceeded", reset_at=NOW + 30, out_of_quota=True), 1, True, 31),
        (Failure(403, "API rate limit exceeded", reset_at=NOW + 3600, out_of_quota=True), 1, True, None),
        (Failure(403, "You have exceeded a secondary rate limit"), 1, True, SECONDARY_WAIT),
        (Failure(429, "", retry_after=LONGEST_WAIT + 1), 1, True, None),
        (Failure(502, "oops"), ATTEMPTS, True, None),
    ],
)
def test_the_wait_before_the_next_one(failure: Failure, attempt: int, safe: bool, wait: float | None):
    assert wait_before_retry(failure, attempt, NOW, safe=safe) == wait


def test_a_long_wait_is_announced_and_then_told_every_ten_seconds():
    slept: list[float] = []
    lines: list[str] = []
    Pace(sleep=slept.append, say=lines.append).wait(25)
    assert slept == [10, 10, 5]
    assert [line.rpartition(": ")[2] for line in lines[1:]] == ["15 s left", "5 s left"]

"""How requests are sent: pages, conditional reads, spacing, odd answers, and what is counted."""

import json
import logging
import subprocess
import sys
import traceback

import pytest
import requests
import responses

from bot.github.client import connect
from bot.github.errors import Failure, GitHubError
from bot.github.retry import ATTEMPTS, LONGEST_WAIT, SECONDARY_WAIT, Pace, wait_before_retry
from bot.github.reviews import draft_comment
from tests.github.test_writes import PULL
from tests.support.tables import API, NAME, REPO, Client, comment, next_page

COMMENTS = f"{REPO}/issues/7/comments"
Web = responses.RequestsMock


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

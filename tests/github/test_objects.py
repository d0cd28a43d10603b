"""PyGithub's objects over our transport: where they send, what they may send, and what a list of them costs."""

from collections.abc import Callable

import pytest
import responses
from github.Issue import Issue
from github.PaginatedList import PaginatedList
from github.PullRequest import PullRequest
from github.Repository import Repository
from github.WorkflowRun import WorkflowRun

from bot.contracts.errors import GateError
from bot.gate.outbound import connect
from bot.github.errors import GitHubError
from bot.github.transport import FULL, JSON, ApiRequester
from tests.support.tables import ANN, API, NAME, REPO, TIME, Client, comment, repository

EVIL = "https://evil.test"
SECRET = "hunter2-hunter2-hunter2"
Web = responses.RequestsMock
Send = Callable[[ApiRequester], object]


def requester_of(client: Client) -> ApiRequester:
    return client.github.requester


ADDRESSES: dict[str, Send] = {
    "a field that is read": lambda to: Issue(to, {}, {"url": f"{EVIL}/i/7"}).title,
    "an edit": lambda to: Issue(to, {}, {"url": f"{EVIL}/i/7"}).edit(title="t"),
    "a list": lambda to: list(Issue(to, {}, {"url": f"{EVIL}/i/7"}).get_comments()),
    "a subdomain of the API": lambda to: Issue(to, {}, {"url": "https://x.api.github.test/i/7"}).title,
    "another port": lambda to: Issue(to, {}, {"url": "https://api.github.test:8443/i/7"}).title,
    "plain HTTP": lambda to: Issue(to, {}, {"url": "http://api.github.test/i/7"}).title,
    "a write for its status": lambda to: WorkflowRun(to, {}, {"cancel_url": f"{EVIL}/i/7"}).cancel(),
    "credentials in it": lambda to: Issue(to, {}, {"url": "https://a:b@evil.test/i/7"}).title,
}


@pytest.mark.parametrize("send", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_a115_an_address_in_an_answer_leads_to_our_api_alone(web: Web, client: Client, send: Send):
    for verb in ("GET", "PATCH", "POST"):
        for path in ("/i/7", "/i/7/comments"):
            web.add(verb, f"{API}{path}", json=[] if path.endswith("s") else {"title": "t"})
    with requester_of(client).known_shape():
        send(requester_of(client))
    (call,) = web.calls
    assert call.request.url is not None
    assert call.request.url.startswith(f"{API}/i/7")


WRITES: dict[str, Callable[[Repository, str], object]] = {
    "a file": lambda repo, text: repo.create_file("a.txt", text, text, branch=text),
    "a ref": lambda repo, text: repo.create_git_ref(f"refs/heads/{text}", "a" * 40),
    "a milestone": lambda repo, text: repo.create_milestone(text),
    "settings": lambda repo, text: repo.edit(name=text),
    "topics": lambda repo, text: repo.replace_topics([text]),
    "a merge": lambda repo, text: repo.get_pull(1).merge(commit_title=text),
    "a label": lambda repo, text: repo.create_label(text, "ffffff"),
    "a dispatch, for its status": lambda repo, text: repo.create_repository_dispatch(text),
}
write = pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())


@write
def test_a116_no_write_of_any_method_leaves_a_dry_run(
    web: Web, client: Client, write: Callable[[Repository, str], object]
):
    said: list[str] = []
    dry = client.github.dry(said.append)
    try:
        with dry.requester.known_shape():
            write(Repository(dry.requester, url=f"/repos/{NAME}"), "words")
    except GitHubError:
        pass  # what stands in for the answer lacks a field of this object
    assert dry.is_dry
    assert len(said) == 1
    assert len(web.calls) == 0


@write
def test_a116_nor_passes_filter_with_a_secret(web: Web, write: Callable[[Repository, str], object]):
    requester = connect("token", API, NAME, secrets={"KEY": SECRET}).requester
    with requester.known_shape(), pytest.raises((GateError, GitHubError)):
        write(Repository(requester, url=f"/repos/{NAME}"), SECRET)
    assert all(SECRET not in str(call.request.body) for call in web.calls)


def test_a_dry_client_and_the_one_it_was_made_from_do_not_share_the_switch(client: Client):
    dry = client.github.dry(lambda _: None)
    assert (client.github.is_dry, dry.is_dry) == (False, True)


def test_a_field_that_a_list_leaves_out_costs_no_request_for_each_object(web: Web, client: Client):
    """An issue that is no pull request has no `pull_request`, and the first comment of a thread no `in_reply_to_id`."""
    times = {"created_at": TIME, "updated_at": TIME}
    issue = {"title": "t", "body": None, "user": ANN, "html_url": "u", "state": "open", "locked": False}
    rows = [{"number": n, "url": f"{REPO}/issues/{n}", **issue, **times} for n in range(5)]
    web.get(f"{REPO}/issues", json=rows)
    assert [one.is_pull_request for one in client.github.issues()] == [False] * 5
    place = {"path": "a.py", "url": f"{REPO}/pulls/comments/1"}
    web.get(f"{REPO}/pulls/7/comments", json=[comment(n, **place) for n in range(5)])
    assert [one.in_reply_to for one in client.github.review_comments(7)] == [0] * 5
    assert len(web.calls) == 2


def test_a_chain_of_objects_sends_one_request(web: Web, client: Client):
    pulls = PaginatedList(PullRequest, requester_of(client), f"{REPO}/pulls")
    assert len(web.calls) == 0
    web.get(f"{REPO}/pulls", json=[])
    with requester_of(client).known_shape():
        assert list(pulls) == []
    web.get(REPO, json=repository())
    assert client.github.repository == client.github.repository
    assert len(web.calls) == 2


@pytest.mark.parametrize("body", ["{}", "null", '""', "0"])
def test_an_empty_answer_is_no_empty_list(web: Web, client: Client, body: str):
    web.get(f"{REPO}/commits/{'a' * 40}/check-runs", body=body, content_type="application/json")
    with pytest.raises(
        GitHubError, match=r"an unknown shape .* to read commits/a{40}/check-runs of octo/hello"
    ):
        list(client.github.check_runs("a" * 40))


def test_texts_are_requested_with_their_html(web: Web, client: Client):
    full = responses.matchers.header_matcher({"Accept": FULL})
    web.get(f"{REPO}/issues/7/comments", json=[comment(1, body_html="<p>b</p>")], match=[full])
    assert [one.id for one in client.github.comments(7)] == [1]
    plain = responses.matchers.header_matcher({"Accept": JSON})
    web.get(f"{REPO}/pulls/7/commits", json=[], match=[plain])
    assert client.github.pull_commits(7) == []

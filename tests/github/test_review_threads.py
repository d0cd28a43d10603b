"""Review threads by GraphQL."""

import json
from typing import Any

import pytest
import responses

from bot.contracts.pulls import Side
from bot.github.client import connect
from bot.github.errors import GitHubError
from tests.support.tables import API, NAME, TIME, Client

GRAPHQL = f"{API}/graphql"
Web = responses.RequestsMock


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
        (200, {"data": {"repository": {"pullRequest": None}}}, "to use GraphQL: query reviewThreads"),
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

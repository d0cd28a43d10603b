"""GraphQL: review threads in pages, resolving them, and GitHub's ways of saying no in a 200."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from slash_forge import Forge
from tests.slash_forge import graphql
from tests.slash_forge.conftest import REPO, Wire

THREADS = """
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      headRefOid  # where it stands
      reviewThreads(first: 2, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path line startLine originalLine diffSide subjectType
          resolvedBy { login }
          comments(first: 100) { totalCount nodes { ...remark } }
        }
      }
    }
  }
}
fragment remark on PullRequestReviewComment {
  databaseId body createdAt outdated
  author { __typename login ... on Bot { databaseId } }
  replyTo { databaseId }
  pullRequestReview { databaseId state }
}
"""
RESOLVE = """
mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread}) { thread { id isResolved } } }
"""
VARIABLES = {"owner": "acme", "name": "lib", "number": 1, "after": None}

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def number(forge: Forge) -> int:
    text = "".join(f"{index}\n" for index in range(20))
    forge.commit(REPO, {"a.txt": text})
    forge.commit(REPO, {"a.txt": text.replace("5\n", "five\n", 1)}, branch="topic")
    return forge.open_pull(REPO, "ada", "topic")


@pytest.fixture
def ask(wire: Callable[[str], Wire], number: int, bot_token: str) -> Ask:
    def ask(query: str, token: str = bot_token, **variables: object) -> dict[str, Any]:
        return dict(wire(token)("POST", "/api/graphql", {"query": query, "variables": variables}).json)

    return ask


def threads(answer: dict[str, Any]) -> dict[str, Any]:
    matches: dict[str, Any] = answer["data"]["repository"]["pullRequest"]["reviewThreads"]
    return matches


def test_a_thread_says_where_it_is_and_who_speaks(forge: Forge, ask: Ask, number: int):
    first = forge.review_comment(REPO, number, "eve", "a.txt", 6, body="Why?", start_line=4)
    forge.reply(REPO, first, "github-actions[bot]", "Because.")
    forge.resolve(REPO, first, "ada")
    (one,) = threads(ask(THREADS, **VARIABLES))["nodes"]
    assert (one["path"], one["line"], one["startLine"], one["diffSide"]) == ("a.txt", 6, 4, "RIGHT")
    assert (one["isResolved"], one["resolvedBy"]["login"], one["isOutdated"]) == (True, "ada", False)
    texts = one["comments"]["nodes"]
    assert [comment["author"]["login"] for comment in texts] == ["eve", "github-actions"]
    assert texts[1]["author"] == {"__typename": "Bot", "login": "github-actions", "databaseId": 41_898_282}
    assert [comment["replyTo"] for comment in texts] == [None, {"databaseId": first}]


def test_a_push_outdates_it_and_a_ghost_has_no_author(forge: Forge, ask: Ask, number: int):
    forge.review_comment(REPO, number, "eve", "a.txt", 6, body="Why?")
    forge.commit(REPO, {"a.txt": "gone\n"}, branch="topic")
    forge.delete_user("eve")
    (one,) = threads(ask(THREADS, **VARIABLES))["nodes"]
    assert (one["isOutdated"], one["line"], one["originalLine"]) == (True, None, 6)
    assert one["comments"]["nodes"][0]["author"] is None


def test_resolving_needs_the_right_to(forge: Forge, ask: Ask, number: int):
    forge.review_comment(REPO, number, "eve", "a.txt", 6, body="Why?")
    (one,) = threads(ask(THREADS, **VARIABLES))["nodes"]
    weak = forge.token(permissions={"pull_requests": "write"}, repo=REPO)
    for token in (weak, forge.token("eve")):
        answer = ask(RESOLVE, token, thread=one["id"])
        assert (answer["errors"][0]["type"], answer["data"]) == ("FORBIDDEN", {"resolveReviewThread": None})
    answer = ask(RESOLVE, thread=one["id"])
    assert answer["data"]["resolveReviewThread"]["thread"] == {"id": one["id"], "isResolved": True}
    undo = RESOLVE.replace("resolveReviewThread", "unresolveReviewThread")
    answer = ask(undo, forge.token("ada"), thread=one["id"])
    assert answer["data"]["unresolveReviewThread"]["thread"]["isResolved"] is False
    assert ask(RESOLVE, thread="nonsense")["errors"][0]["type"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"owner": "nobody"}, "NOT_FOUND"),
        ({"number": 99}, "NOT_FOUND"),
        ({"after": "nonsense"}, "INVALID_CURSOR_ARGUMENTS"),
    ],
    ids=str,
)
def test_what_is_not_there_is_null_and_an_error(ask: Ask, changed: dict[str, object], kind: str):
    answer = ask(THREADS, **{**VARIABLES, **changed})
    assert answer["errors"][0]["type"] == kind


@pytest.mark.node
def test_the_check_against_the_schema_can_fail(forge: Forge, ask: Ask, number: int):
    ask(THREADS, **VARIABLES)
    (exchange,) = forge.requests
    assert graphql.findings([exchange]) == []
    wrong = exchange.request_body.replace(b"totalCount", b"totalCounts")
    assert "totalCounts" in str(graphql.findings([replace(exchange, request_body=wrong)]))
    null = exchange.body.replace(b'"totalCount": 0', b'"totalCount": null')
    assert "non-nullable" in str(graphql.findings([replace(exchange, body=null)]))

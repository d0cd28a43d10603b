"""Issues, comments, labels, reactions: who may do what, and what GitHub refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Wire, refusal

AsUser = Callable[[str], Repository]


@pytest.fixture
def issue(forge: Forge) -> int:
    return forge.create_issue(REPO, "eve", "It subtracts", "`add(1, 1)` is 0", labels=["bug"])


def test_an_author_edits_and_closes_their_own_issue(as_user: AsUser, issue: int) -> None:
    mine = as_user("eve").get_issue(issue)
    mine.edit(title="It really subtracts", state="closed", state_reason="not_planned")
    assert (mine.title, mine.state, mine.state_reason, mine.closed_by.login) == (
        "It really subtracts",
        "closed",
        "not_planned",
        "eve",
    )


def test_a_stranger_cannot_close_an_issue(forge: Forge, as_user: AsUser, issue: int) -> None:
    forge.add_user("mallory")
    with refusal(403):
        as_user("mallory").get_issue(issue).edit(state="closed")


def test_triage_closes_but_does_not_rewrite(as_user: AsUser, issue: int) -> None:
    result = as_user("tom").get_issue(issue)
    result.edit(state="closed")
    with refusal(403):
        result.edit(title="mine now")


def test_lists_filter_by_state_and_label(forge: Forge, repo: Repository, issue: int) -> None:
    other = forge.create_issue(REPO, "ada", "Second")
    forge.set_thread(REPO, other, state="closed")
    assert [one.number for one in repo.get_issues()] == [issue]
    assert [one.number for one in repo.get_issues(state="all")] == [other, issue]
    assert [one.number for one in repo.get_issues(state="all", labels=["bug"])] == [issue]
    assert [one.number for one in repo.get_issues(state="all", direction="asc")] == [issue, other]


# -- comments


def test_comments_come_in_pages_in_order(forge: Forge, repo: Repository, issue: int) -> None:
    for number in range(65):
        forge.comment(REPO, issue, "ada", f"comment {number}")
    read = [comment.body for comment in repo.get_issue(issue).get_comments()]
    assert read == [f"comment {number}" for number in range(65)]
    pages = [e for e in forge.requests if e.path.endswith("/comments")]
    assert len(pages) == 3
    assert 'rel="next"' in pages[0].headers["Link"]
    assert 'rel="next"' not in pages[-1].headers["Link"]


@pytest.mark.parametrize("login", ["tom", "mallory"])
def test_nobody_else_edits_it(forge: Forge, as_user: AsUser, issue: int, login: str) -> None:
    forge.add_user("mallory")
    number, _ = forge.comment(REPO, issue, "eve", "words")
    comment = as_user(login).get_issue(issue).get_comment(number)
    with refusal(403):
        comment.edit("mine")


def test_a_locked_issue_takes_comments_from_writers_only(
    forge: Forge, as_user: AsUser, repo: Repository, issue: int
) -> None:
    forge.set_thread(REPO, issue, locked=True)
    assert repo.get_issue(issue).locked
    with refusal(403, "issue is locked"):
        as_user("eve").get_issue(issue).create_comment("hello")
    as_user("ada").get_issue(issue).create_comment("hello")
    forge.set_thread(REPO, issue, locked=False)
    as_user("eve").get_issue(issue).create_comment("thanks")


def test_a_body_of_65536_characters_is_taken_and_one_more_is_not(repo: Repository, issue: int) -> None:
    result = repo.get_issue(issue)
    result.create_comment("é" * 65_536)
    with refusal(422, "65536"):
        result.create_comment("é" * 65_537)


@pytest.mark.parametrize("body", ["", "  \n"])
def test_an_empty_comment_is_refused(repo: Repository, issue: int, body: str) -> None:
    with refusal(422):
        repo.get_issue(issue).create_comment(body)


# -- labels, assignees, reactions


def test_a_reaction_counts_once_a_person(forge: Forge, as_user: AsUser, issue: int) -> None:
    number, _ = forge.comment(REPO, issue, "eve", "words")
    comment = as_user("ada").get_issue(issue).get_comment(number)
    first, second = comment.create_reaction("eyes"), comment.create_reaction("eyes")
    assert first.id == second.id
    assert comment.raw_data["reactions"]["eyes"] == 0
    assert as_user("ada").get_issue(issue).get_comment(number).raw_data["reactions"]["eyes"] == 1
    assert [one.content for one in comment.get_reactions()] == ["eyes"]


def test_a_conditional_request_costs_no_body(wire: Callable[[str], Wire], bot_token: str, issue: int) -> None:
    ask = wire(bot_token)
    path = f"/repos/{REPO}/issues/{issue}"
    first = ask.api("GET", path)
    again = ask.api("GET", path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    ask.api("POST", f"{path}/comments", {"body": "new"})
    assert ask.api("GET", path, If_None_Match=first.headers["etag"]).status == 200

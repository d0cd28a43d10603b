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


def test_an_issue_reads_as_it_was_written(repo: Repository, issue: int) -> None:
    read = repo.get_issue(issue)
    assert (read.title, read.body, read.user.login, read.state) == (
        "It subtracts",
        "`add(1, 1)` is 0",
        "eve",
        "open",
    )
    assert [label.name for label in read.labels] == ["bug"]


def test_an_unknown_issue_is_not_found(repo: Repository) -> None:
    with refusal(404):
        repo.get_issue(99)


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


def test_a_reopened_issue_says_so(as_user: AsUser, issue: int) -> None:
    result = as_user("ada").get_issue(issue)
    result.edit(state="closed")
    result.edit(state="open")
    assert (result.state, result.state_reason, result.closed_at) == ("open", "reopened", None)


def test_labels_of_a_stranger_are_dropped_in_silence(as_user: AsUser) -> None:
    created = as_user("eve").create_issue("x", body="y", labels=["bug"])
    assert list(created.labels) == []


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


def test_per_page_is_a_hundred_at_most(forge: Forge, repo: Repository, issue: int) -> None:
    for number in range(101):
        forge.comment(REPO, issue, "ada", str(number))
    headers, data = repo.requester.requestJsonAndCheck(
        "GET", f"/repos/{REPO}/issues/{issue}/comments", parameters={"per_page": 500}
    )
    assert len(data) == 100
    assert "next" in headers["link"]


def test_the_author_edits_a_comment(as_user: AsUser, issue: int) -> None:
    comment = as_user("eve").get_issue(issue).create_comment("first")
    comment.edit("second")
    assert comment.body == "second"


def test_somebody_with_write_edits_anybodys_comment(forge: Forge, as_user: AsUser, issue: int) -> None:
    number, _ = forge.comment(REPO, issue, "eve", "words")
    as_user("ada").get_issue(issue).get_comment(number).edit("other words")
    assert as_user("eve").get_issue(issue).get_comment(number).body == "other words"


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


def test_what_a_deleted_account_wrote_is_by_nobody(forge: Forge, repo: Repository) -> None:
    forge.add_user("gone")
    number = forge.create_issue(REPO, "gone", "x")
    forge.comment(REPO, number, "gone", "y")
    forge.delete_user("gone")
    assert repo.get_issue(number).raw_data["user"] is None
    assert next(iter(repo.get_issue(number).get_comments())).raw_data["user"] is None


def test_a_bots_comment_is_by_a_bot(repo: Repository, issue: int) -> None:
    author = repo.get_issue(issue).create_comment("x").user
    assert (author.login, author.type, author.id) == ("github-actions[bot]", "Bot", 41898282)


# -- labels, assignees, reactions


def test_labels_are_added_and_removed(repo: Repository, issue: int) -> None:
    result = repo.get_issue(issue)
    result.add_to_labels("question", "new one")
    assert {label.name for label in repo.get_issue(issue).labels} == {"bug", "question", "new one"}
    result.remove_from_labels("bug")
    with refusal(404, "Label does not exist"):
        result.remove_from_labels("bug")


def test_a_label_without_a_name_is_refused(wire: Callable[..., Wire], bot_token: str, issue: int) -> None:
    answer = wire(bot_token).api(
        "POST", f"/repos/{REPO}/issues/{issue}/labels", {"labels": [{"colour": "red"}]}
    )
    assert answer.status == 422


def test_a_stranger_sets_no_labels(as_user: AsUser, issue: int) -> None:
    with refusal(403):
        as_user("eve").get_issue(issue).add_to_labels("question")


def test_a_reaction_counts_once_a_person(forge: Forge, as_user: AsUser, issue: int) -> None:
    number, _ = forge.comment(REPO, issue, "eve", "words")
    comment = as_user("ada").get_issue(issue).get_comment(number)
    first, second = comment.create_reaction("eyes"), comment.create_reaction("eyes")
    assert first.id == second.id
    assert comment.raw_data["reactions"]["eyes"] == 0
    assert as_user("ada").get_issue(issue).get_comment(number).raw_data["reactions"]["eyes"] == 1
    assert [one.content for one in comment.get_reactions()] == ["eyes"]


def test_an_unknown_reaction_is_refused(forge: Forge, repo: Repository, issue: int) -> None:
    number, _ = forge.comment(REPO, issue, "eve", "words")
    with refusal(422):
        repo.get_issue(issue).get_comment(number).create_reaction("tada")


def test_a_conditional_request_costs_no_body(wire: Callable[[str], Wire], bot_token: str, issue: int) -> None:
    ask = wire(bot_token)
    path = f"/repos/{REPO}/issues/{issue}"
    first = ask.api("GET", path)
    again = ask.api("GET", path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    ask.api("POST", f"{path}/comments", {"body": "new"})
    assert ask.api("GET", path, If_None_Match=first.headers["etag"]).status == 200

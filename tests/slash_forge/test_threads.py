"""Issues, comments, labels, reactions: who may do what, and what GitHub refuses."""

from collections.abc import Callable

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, refusal

AsUser = Callable[[str], Repository]


@pytest.fixture
def issue(forge: Forge) -> int:
    return forge.create_issue(REPO, "eve", "It subtracts", "`add(1, 1)` is 0", labels=["bug"])


def test_triage_closes_but_does_not_rewrite(as_user: AsUser, issue: int) -> None:
    result = as_user("tom").get_issue(issue)
    result.edit(state="closed")
    with refusal(403):
        result.edit(title="mine now")


# -- comments


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


# -- labels, assignees, reactions

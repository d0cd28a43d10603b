"""Refs, branches, commits, comparisons and contents: what git knows, in GitHub's words."""

from collections.abc import Callable

import pytest
from github.Repository import Repository

from bot.github.client import connect as connect_client
from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Connect, Wire, refusal


def test_a_ref_is_made_moved_and_deleted(forge: Forge, repo: Repository) -> None:
    base = str(forge.branch_sha(REPO))
    later = forge.commit(REPO, {"x": "y"}, branch="elsewhere")
    repo.create_git_ref("refs/heads/agent/topic", base)
    ref = repo.get_git_ref("heads/agent/topic")
    assert (ref.ref, ref.object.sha, ref.object.type) == ("refs/heads/agent/topic", base, "commit")
    ref.edit(later)
    assert forge.branch_sha(REPO, "agent/topic") == later
    with refusal(422, "not a fast forward"):
        ref.edit(base)
    ref.edit(base, force=True)
    assert forge.branch_sha(REPO, "agent/topic") == base
    ref.delete()
    with refusal(404):
        repo.get_git_ref("heads/agent/topic")
    with refusal(422, "Reference does not exist"):
        ref.delete()


@pytest.mark.parametrize(
    ("ref", "sha", "words"),
    [
        ("refs/heads/main", "", "Reference already exists"),
        ("refs/heads/a..b", "", "not a valid ref name"),
        ("refs/heads/main/below", "", "cannot be created"),
        ("heads/x", "", "not a valid ref name"),
        ("refs/heads/x", "1" * 40, "Object does not exist"),
        ("refs/heads/x", "main", "exactly 40 characters"),
    ],
)
def test_a_ref_that_cannot_be_is_refused(
    forge: Forge, wire: Callable[[str], Wire], bot_token: str, ref: str, sha: str, words: str
) -> None:
    body = {"ref": ref, "sha": sha or forge.branch_sha(REPO)}
    answer = wire(bot_token).api("POST", f"/repos/{REPO}/git/refs", body)
    assert answer.status == 422
    assert words in answer.json["message"]


def test_an_empty_repository_says_that_it_is(forge: Forge, connect: Connect) -> None:
    name = forge.create_repository("acme", "empty")
    empty = connect(forge.token("acme")).get_repo(name)
    with refusal(409, "Git Repository is empty."):
        empty.get_commit("main")
    with refusal(404):
        empty.get_contents("README.md")


@pytest.mark.parametrize("path", ["missing.txt", "calc.py/below", "../calc.py", "*.py"])
def test_what_is_not_there_is_not_found(repo: Repository, path: str) -> None:
    with refusal(404):
        repo.get_contents(path)


def test_pushes_are_listed_newest_first(forge: Forge, bot_token: str) -> None:
    zero, first = "0" * 40, str(forge.branch_sha(REPO))
    one = forge.commit(REPO, {"a": "1"}, branch="fix/#1")
    two = forge.commit(REPO, {"a": "2"}, branch="fix/#1")
    forge.delete_branch(REPO, "fix/#1")
    forge.create_repository("eve", "secret", private=True)
    pushes = connect_client(bot_token, forge.api_url).pushes
    ends = [(push.before, push.after) for push in pushes(REPO, "fix/#1") or ()]
    assert ends == [(two, zero), (one, two), (zero, one)]
    assert [push.after for push in pushes(REPO, "main") or ()] == [first]
    assert (pushes(REPO, "nothing"), pushes("eve/secret", "main")) == ([], None)

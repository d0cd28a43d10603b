"""Refs, branches, commits, comparisons and contents: what git knows, in GitHub's words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Connect, Run, Wire, refusal, with_token


def test_the_repository_says_what_its_caller_may(forge: Forge, connect: Connect, repo: Repository) -> None:
    assert (repo.default_branch, repo.clone_url) == ("main", forge.clone_url(REPO))
    assert repo.permissions.push
    assert not connect(forge.token("eve")).get_repo(REPO).permissions.push
    assert connect(forge.token("acme")).get_repo(REPO).permissions.admin


# -- refs


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


def test_a_reader_makes_no_refs(forge: Forge, connect: Connect) -> None:
    with refusal(404):
        connect(forge.token("eve")).get_repo(REPO).create_git_ref("refs/heads/x", str(forge.branch_sha(REPO)))


# -- branches and commits


@pytest.mark.parametrize("name", ["agent/issue-1", "with#hash", "ünï", "a" * 200])
def test_a_branch_is_found_whatever_its_name(forge: Forge, repo: Repository, name: str) -> None:
    sha = forge.commit(REPO, {"x": "y"}, branch=name)
    assert repo.get_branch(name).commit.sha == sha
    assert repo.get_git_ref(f"heads/{name}").object.sha == sha


def test_an_unknown_branch_is_not_found(repo: Repository) -> None:
    with refusal(404, "Branch not found"):
        repo.get_branch("nowhere")


def test_a_commit_tells_its_files_and_its_author(forge: Forge, repo: Repository) -> None:
    sha = forge.commit(REPO, {"calc.py": "x = 1\n"}, message="Shorten", author="ada")
    commit = repo.get_commit("main")
    assert (commit.sha, commit.commit.message, commit.author.login) == (sha, "Shorten", "ada")
    assert (commit.stats.additions, commit.stats.deletions) == (1, 2)
    assert [file.filename for file in commit.files] == ["calc.py"]
    assert repo.get_git_commit(sha).tree.sha == commit.commit.tree.sha


def test_a_commit_by_an_unknown_address_has_no_account(
    forge: Forge, git: Run, bot_token: str, repo: Repository, tmp_path: Path
) -> None:
    git("clone", "-q", with_token(forge.clone_url(REPO), bot_token), "work")
    git("commit", "-q", "--allow-empty", "-m", "One\n\nTwo lines\nof body", cwd=tmp_path / "work")
    git("push", "-q", "origin", "HEAD:main", cwd=tmp_path / "work")
    commit = repo.get_commit("main")
    assert commit.author is None
    assert commit.commit.message == "One\n\nTwo lines\nof body"


def test_the_first_commit_has_files_too(repo: Repository) -> None:
    first = repo.get_commit("main")
    assert first.parents == []
    assert {file.filename for file in first.files} == {"README.md", "calc.py"}


def test_an_unknown_commit_is_named(repo: Repository) -> None:
    with refusal(422, "No commit found for SHA: nowhere"):
        repo.get_commit("nowhere")


def test_an_empty_repository_says_that_it_is(forge: Forge, connect: Connect) -> None:
    name = forge.create_repository("acme", "empty")
    empty = connect(forge.token("acme")).get_repo(name)
    with refusal(409, "Git Repository is empty."):
        empty.get_commit("main")
    with refusal(404):
        empty.get_contents("README.md")


# -- comparisons


def test_a_comparison_counts_both_sides(forge: Forge, repo: Repository) -> None:
    base = str(forge.branch_sha(REPO))
    forge.commit(REPO, {"topic.txt": "x\n"}, branch="agent/topic")
    forge.commit(REPO, {"main.txt": "x\n"})
    compared = repo.compare("main", "agent/topic")
    assert (compared.status, compared.ahead_by, compared.behind_by) == ("diverged", 1, 1)
    assert compared.merge_base_commit.sha == base
    assert [file.filename for file in compared.files] == ["topic.txt"]
    assert repo.compare("main", "main").status == "identical"
    assert repo.compare(base, "main").status == "ahead"
    assert repo.compare("main", base).status == "behind"
    with refusal(404):
        repo.compare("main", "nowhere")


def test_a_comparison_reaches_into_a_fork(forge: Forge, repo: Repository) -> None:
    forge.commit(forge.fork(REPO, "eve"), {"topic.txt": "x\n"}, branch="topic")
    assert repo.compare("main", "eve:topic").ahead_by == 1


# -- contents


def test_a_file_comes_with_its_bytes(forge: Forge, repo: Repository) -> None:
    data = bytes(range(256)) * 4
    forge.commit(REPO, {".github/pull_request_template.md": data})
    content = repo.get_contents(".github/pull_request_template.md")
    assert (content.decoded_content, content.size, content.type) == (data, 1024, "file")


def test_a_file_is_read_at_a_ref(forge: Forge, repo: Repository) -> None:
    old = str(forge.branch_sha(REPO))
    forge.commit(REPO, {"calc.py": "new\n"}, branch="topic")
    assert repo.get_contents("calc.py", ref="topic").decoded_content == b"new\n"
    assert b"a - b" in repo.get_contents("calc.py", ref=old).decoded_content
    with refusal(404, "No commit found for the ref nowhere"):
        repo.get_contents("calc.py", ref="nowhere")


def test_a_folder_is_a_list(forge: Forge, repo: Repository) -> None:
    forge.commit(REPO, {"docs/a b.md": "x", "docs/deep/c.md": "y"})
    assert {(one.path, one.type) for one in repo.get_contents("docs")} == {
        ("docs/a b.md", "file"),
        ("docs/deep", "dir"),
    }
    assert {one.path for one in repo.get_contents("")} == {"README.md", "calc.py", "docs"}
    assert repo.get_contents("docs/a b.md").decoded_content == b"x"


@pytest.mark.parametrize("path", ["missing.txt", "calc.py/below", "../calc.py", "*.py"])
def test_what_is_not_there_is_not_found(repo: Repository, path: str) -> None:
    with refusal(404):
        repo.get_contents(path)


def test_raw_gives_the_bytes_alone(wire: Callable[[str], Wire], bot_token: str) -> None:
    answer = wire(bot_token).api(
        "GET", f"/repos/{REPO}/contents/README.md", Accept="application/vnd.github.raw+json"
    )
    assert answer.body == b"# lib\n"


def test_trees_are_gits_own(forge: Forge, repo: Repository) -> None:
    forge.commit(REPO, {"docs/a.md": "text"})
    tree = repo.get_git_tree("main", recursive=True)
    paths = {entry.path: entry for entry in tree.tree}
    assert set(paths) == {"README.md", "calc.py", "docs", "docs/a.md"}


def test_what_nobody_answers_is_not_found(wire: Callable[[str], Wire], bot_token: str) -> None:
    assert wire(bot_token).api("GET", f"/repos/{REPO}/nothing-like-this").status == 404
    assert wire(bot_token).api("DELETE", f"/repos/{REPO}").status == 404

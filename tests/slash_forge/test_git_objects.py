"""Commits by the API alone, and what guards branches against them."""

from collections.abc import Callable
from pathlib import Path

from github import InputGitAuthor, InputGitTreeElement
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Connect, Run, Wire, with_token


def test_a_commit_is_made_of_blobs_and_a_tree(forge: Forge, repo: Repository) -> None:
    base = repo.get_git_commit(str(forge.branch_sha(REPO)))
    blob = repo.create_git_blob("AAE=", "base64")
    tree = repo.create_git_tree(
        [
            InputGitTreeElement("dir/bin", "100755", "blob", sha=blob.sha),
            InputGitTreeElement("new.txt", "100644", "blob", content="n\n"),
            InputGitTreeElement("README.md", "100644", "blob", sha=None),
        ],
        base.tree,
    )
    commit = repo.create_git_commit("By the API", tree, [base])
    assert commit.verification.verified
    assert commit.author.name == "github-actions[bot]"
    repo.create_git_ref("refs/heads/made", commit.sha)
    names = {one.path: one.mode for one in repo.get_git_tree("made", recursive=True).tree}
    assert names == {"calc.py": "100644", "dir": "040000", "dir/bin": "100755", "new.txt": "100644"}
    folder = repo.create_git_tree([InputGitTreeElement("copy", "040000", "tree", sha=tree.sha)])
    assert [one.path for one in folder.tree] == ["copy"]


def test_who_names_an_author_is_not_signed_for(forge: Forge, repo: Repository, connect: Connect) -> None:
    base = repo.get_git_commit(str(forge.branch_sha(REPO)))
    somebody = InputGitAuthor("Ada", "ada@example.org", "2026-01-01T00:00:00Z")
    named = repo.create_git_commit("x", base.tree, [base], author=somebody)
    assert (named.author.name, named.verification.verified) == ("Ada", False)
    own = connect(forge.token("ada")).get_repo(REPO).create_git_commit("x", base.tree, [base])
    assert not own.verification.verified


# -- what guards a branch


def push(git: Run, forge: Forge, token: str, branch: str, tmp_path: Path) -> str:
    if not (tmp_path / "work").exists():
        git("clone", "-q", with_token(forge.clone_url(REPO), token), "work")
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path / "work")
    completed = git("push", "-q", "origin", f"HEAD:refs/heads/{branch}", cwd=tmp_path / "work", check=False)
    return "" if completed.returncode == 0 else completed.stderr


def test_rules_are_told_and_kept(
    forge: Forge, git: Run, bot_token: str, tmp_path: Path, wire: Callable[..., Wire]
) -> None:
    forge.add_rule(REPO, "release/*", "creation")
    forge.add_rule(REPO, "*", "non_fast_forward")
    reply = wire(bot_token).api("GET", f"/repos/{REPO}/rules/branches/release/1").json
    assert [one["type"] for one in reply] == ["creation", "non_fast_forward"]
    assert "GH013" in push(git, forge, bot_token, "release/1", tmp_path)
    assert push(git, forge, bot_token, "agent/x", tmp_path) == ""

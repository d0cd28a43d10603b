"""Merging: tried beforehand under `refs/pull/N/merge`, then done."""

from pathlib import Path

import pytest
from github.PullRequest import PullRequest
from github.Repository import Repository

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Run

FIXED = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def pull(forge: Forge, repo: Repository) -> PullRequest:
    forge.create_issue(REPO, "eve", "It subtracts")
    forge.commit(REPO, {"calc.py": FIXED}, branch="topic", message="Add")
    return repo.get_pull(forge.open_pull(REPO, "ada", "topic", title="Add", body="Fixes #1"))


def test_what_merging_would_give_can_be_fetched(
    forge: Forge, pull: PullRequest, git: Run, tmp_path: Path
) -> None:
    forge.commit(REPO, {"elsewhere.txt": "x\n"})
    git("clone", "-q", forge.clone_url(REPO), "work")
    work = tmp_path / "work"
    git("fetch", "-q", "origin", f"refs/pull/{pull.number}/merge", cwd=work)
    assert git("show", "FETCH_HEAD:calc.py", cwd=work).stdout == FIXED
    assert git("show", "FETCH_HEAD:elsewhere.txt", cwd=work).stdout == "x\n"
    parents = git("log", "-1", "--format=%P", "FETCH_HEAD", cwd=work).stdout.split()
    assert parents == [forge.branch_sha(REPO), pull.head.sha]

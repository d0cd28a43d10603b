"""Git over HTTP as real clients speak it: who may, in which form, and what moves afterwards."""

from pathlib import Path

import pytest

from slash_forge import Forge
from tests.slash_forge.conftest import REPO, Run, with_token


@pytest.fixture
def work(forge: Forge, git: Run, bot_token: str, tmp_path: Path) -> Path:
    """A clone that can push."""
    git("clone", "-q", with_token(forge.clone_url(REPO), bot_token), "work")
    return tmp_path / "work"


def commit(git: Run, work: Path, name: str = "new.txt", text: str = "new\n") -> str:
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_text(text)
    git("add", "-A", cwd=work)
    git("commit", "-qm", f"Add {name}", cwd=work)
    return git("rev-parse", "HEAD", cwd=work).stdout.strip()


def test_a_private_repository_is_not_there_for_others(forge: Forge, git: Run) -> None:
    name = forge.create_repository("acme", "secret", private=True)
    refused = git("ls-remote", with_token(forge.clone_url(name), forge.token("eve")), check=False)
    assert "not found" in refused.stderr
    git("ls-remote", with_token(forge.clone_url(name), forge.token("acme")))


def test_pull_request_refs_cannot_be_pushed(git: Run, work: Path) -> None:
    refused = git("push", "origin", "HEAD:refs/pull/7/head", cwd=work, check=False)
    assert "hidden ref" in refused.stderr


def test_a_workflow_needs_a_permission_of_its_own(forge: Forge, git: Run, work: Path) -> None:
    sha = commit(git, work, ".github/workflows/ci.yml", "on: push\n")
    refused = git("push", "origin", "HEAD:topic", cwd=work, check=False)
    assert (
        "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml`"
        in refused.stderr
    )
    permissions = {"contents": "write", "workflows": "write"}
    token = forge.token(permissions=permissions, repo=REPO)  # type: ignore[arg-type]  # plain strings
    git("push", "-q", with_token(forge.clone_url(REPO), token), "HEAD:topic", cwd=work)
    assert forge.branch_sha(REPO, "topic") == sha

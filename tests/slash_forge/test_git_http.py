"""Git over HTTP as real clients speak it: who may, in which form, and what moves afterwards."""

from __future__ import annotations

import os
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


def test_a_push_larger_than_the_post_buffer_comes_in_chunks(forge: Forge, git: Run, work: Path) -> None:
    (work / "noise").write_bytes(os.urandom(3_000_000))
    sha = commit(git, work)
    git("push", "-q", "origin", "HEAD:refs/heads/topic", cwd=work)
    assert forge.branch_sha(REPO, "topic") == sha
    assert any(e.request_headers.get("transfer-encoding") == "chunked" for e in forge.requests)


@pytest.mark.parametrize(
    ("login", "permissions"), [("eve", None), ("github-actions[bot]", {"contents": "read"})]
)
def test_who_may_only_read_cannot_push(
    forge: Forge, git: Run, work: Path, login: str, permissions: dict[str, str] | None
) -> None:
    token = forge.token(login, permissions, repo=REPO if permissions else None)  # type: ignore[arg-type]  # parametrised
    commit(git, work)
    refused = git("push", with_token(forge.clone_url(REPO), token), "HEAD:topic", cwd=work, check=False)
    assert "403" in refused.stderr
    assert forge.branch_sha(REPO, "topic") is None


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

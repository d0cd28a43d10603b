"""The one push: only our own branches, only what we saw, and the token nowhere to be seen."""

import os
from pathlib import Path

import pytest

from bot.checkout import layout
from bot.checkout.branches import Signature, commit_tree
from bot.checkout.git import Git
from bot.contracts.errors import PublishError
from bot.publish.remote import BranchMovedError, Remote
from tests.publish.conftest import REPO, World
from tests.support.files import write_file

NOBODY: frozenset[str] = frozenset()
ME = Signature("bot", "bot@our.example")


@pytest.fixture
def remote(world: World) -> Remote:
    git_dir = world.room("git")
    layout.make_git_dir(git_dir, bare=True, object_format="sha1")
    remote = Remote(git_dir, world.forge.clone_url(REPO), world.token)
    remote.fetch(world.base_sha)
    return remote


def commit(remote: Remote, world: World, message: str = "x") -> str:
    git = Git(remote.git_dir)
    tree = git.run("rev-parse", f"{world.base_sha}^{{tree}}").decode().strip()
    return commit_tree(
        git, tree, (world.base_sha,), message, author=ME, committer=ME, when="2026-01-02T03:04:05Z"
    )


HOSTILE = [
    "main", "master", "refs/heads/main", "agent", "agent/", "agent//x", "agent/../main", "agent/x/../../main",
    "agent/X", "agent/x y", "agent/x\u3000y", "agent/x;id", "agent/$(id)", "agent/`id`", "agent/x\n", "agent/-x",
    "agent/x-", "agent/x.lock", "agent/x@{1}", "agent/x~1", "agent/x^", "agent/x:main", "agent/*", "agent/?",
    "-u", "--upload-pack=id", "--force", "--mirror", "--all", "-", "", "HEAD", "@", "+agent/x", ":main",
    "agent/x:refs/heads/main", "AGENT/x", "agents/x", "agent/é", "agent/\u202ex", "feature/agent/x",
]  # fmt: skip


def test_no_other_branch_is_ever_written(world: World, remote: Remote):
    sha = commit(remote, world)
    for name in HOSTILE:
        with pytest.raises(PublishError, match="not one of the bot's branches"):
            remote.push(sha, name, expected="", never=NOBODY)
    assert world.branches() == {"main": world.base_sha}


def test_a_branch_that_appeared_meanwhile_is_not_overwritten(world: World, remote: Remote):
    theirs = world.forge.commit(REPO, {"a": "b"}, branch="agent/x", author="ann")
    with pytest.raises(BranchMovedError):
        remote.push(commit(remote, world), "agent/x", expected="", never=NOBODY)
    assert world.branches()["agent/x"] == theirs


def refuse(world: World, *lines: str) -> None:
    """The server refuses every push with these lines."""
    hook = world.forge.git_folder(REPO) / "hooks/pre-receive"
    said = "\n".join(lines)
    write_file(hook, f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n", 0o755)


GH013 = "error: GH013: Repository rule violations found for refs/heads/agent/x."
REFUSALS = {
    "creation": ((GH013, "", "- Cannot create ref due to creations being restricted."), "branches under agent/"),
    "protected": (("error: GH006: Protected branch update failed for refs/heads/agent/x.",
                   "error: Changes must be made through a pull request."), "branches under agent/"),
    "force": ((GH013, "- Cannot force-push to this branch"), "branches under agent/"),
    "signatures": ((GH013, "- Commits must have verified signatures."), "`pull_request.signed: true`"),
    "secret": ((GH013, "- GITHUB PUSH PROTECTION", "  - Push cannot contain secrets",
                "  https://github.com/octo/hello/security/secret-scanning/unblock-secret/2"), "remove the secret"),
    "size": (("error: File big.bin is 150.00 MB; this exceeds GitHub's file size limit of 100.00 MB",
              "error: GH001: Large files detected."), "less data"),
    "quota": (("error: This repository exceeded its data quota.",), "less data"),
    "e-mail": (("error: GH007: Your push would publish a private email address.",), "identity.email"),
    "workflow": (("refusing to allow a GitHub App to update workflow `ci.yml` without `workflows` permission",),
                 "`workflows` permission"),
    "hook": (("Every commit needs a ticket; ticket not found.",), "publish again once that is settled"),
    "archived": (("This repository was archived so it is read-only.",), "unarchive it"),
    "disabled": (("Access to this repository has been disabled by GitHub staff.",), "have it enabled"),
}  # fmt: skip


def test_a_refused_push_has_the_servers_words_and_what_to_do(world: World, remote: Remote):
    sha = commit(remote, world)
    for lines, advice in REFUSALS.values():
        refuse(world, *lines)
        with pytest.raises(PublishError) as caught:
            remote.push(sha, "agent/x", expected="", never=NOBODY)
        assert not isinstance(caught.value, BranchMovedError)
        words = str(caught.value)
        assert all(line.strip(" -").removeprefix("error: ").rstrip(".") in words for line in lines)
        assert advice in words
        assert "hook declined" in words and "\n" not in words


def test_a_lock_that_nobody_releases_is_no_change_of_the_branch(world: World, remote: Remote):
    lock = world.forge.git_folder(REPO) / "refs/heads/agent/x.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with pytest.raises(PublishError, match="publish again") as caught:
        remote.push(commit(remote, world), "agent/x", expected="", never=NOBODY)
    assert not isinstance(caught.value, BranchMovedError)


def test_git_sees_the_token_in_its_environment_alone(
    world: World, remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from bot.checkout.git import git_program

    log = tmp_path / "arguments"
    wrapper = tmp_path / "bin" / "git"
    write_file(wrapper, f'#!/bin/sh\nprintf "%s\\n" "$@" >> {log}\nexec {git_program()} "$@"\n', 0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    remote.push(commit(remote, world), "agent/x", expected="", never=NOBODY)
    said = log.read_text()
    assert "push" in said
    assert world.token not in said
    assert world.token not in repr(remote)

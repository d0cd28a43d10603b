"""Commits made by GitHub's API where the policy asks for signed ones: the judged tree, once, and nobody else's."""

from collections.abc import Mapping
from typing import Any

import pytest

from bot.checkout.git import Git
from bot.contracts.errors import PublishError
from bot.github.repositories import Repositories
from tests.publish.conftest import FIXED, REPO, World

POLICY = {
    ".github/agent.yml": "pull_request: {signed: true}\npush_to_head: true\ndiff: {binaries: [image.bin]}\n"
}
AUTHOR = "author github-actions[bot]"


@pytest.fixture(autouse=True)
def policy(world: World) -> None:
    world.base_sha = world.forge.commit(REPO, POLICY)


def test_the_commit_is_githubs_with_the_tree_that_was_judged(world: World):
    bundle = world.bundle()
    published = world.publish(bundle)
    commit = world.commit(published.commit)
    assert AUTHOR in commit
    assert f"parent {world.base_sha}" in commit
    assert "Round totals once, at the end" in commit
    assert f"Co-authored-by: ann <{world.ann}+ann@" in commit
    assert world.show(published.commit, "invoice.py") == FIXED
    assert world.branches()[published.branch] == published.commit
    # Published again it changes nothing.
    before = (world.branches(), world.pulls(), world.writes())
    assert world.publish(bundle).commit == published.commit
    assert (world.branches(), world.pulls(), world.writes()) == before


def staged(world: World, entries: Mapping[str, tuple[str, bytes] | None]) -> bytes:
    """A patch that git makes of files with modes and any bytes; None removes one."""
    git = Git(world.forge.git_folder(REPO))
    index = world.room("index")
    git.run("read-tree", world.base_sha, index=index)
    for path, entry in entries.items():
        if entry is None:
            git.run("update-index", "--force-remove", path, index=index, work_tree=world.folder)
            continue
        blob = git.run("hash-object", "-w", "--stdin", input=entry[1]).decode().strip()
        git.run("update-index", "--add", "--cacheinfo", f"{entry[0]},{blob},{path}", index=index)
    return git.run("diff-index", "--cached", "-p", "--binary", "--no-renames", world.base_sha, index=index)


def test_modes_bytes_and_removals_are_the_judged_ones(world: World):
    patch = staged(
        world,
        {
            "run.sh": ("100755", b"#!/bin/sh\n"),
            "image.bin": ("100644", bytes(range(256))),
            "crlf.txt": ("100644", b"one\r\ntwo"),
            "größe und mehr.txt": ("100644", b""),
            "README.md": None,
        },
    )
    published = world.publish(world.bundle(patch=patch))
    git = Git(world.forge.git_folder(REPO))
    listing = git.run("diff-tree", "-r", "-z", "--raw", world.base_sha, published.commit).decode().split("\0")
    changes = dict(zip(listing[1::2], listing[::2], strict=False))
    assert set(changes) == {"run.sh", "image.bin", "crlf.txt", "größe und mehr.txt", "README.md"}
    assert changes["run.sh"].split()[1] == "100755"
    assert changes["README.md"].endswith("D")
    assert git.run("cat-file", "blob", f"{published.commit}:image.bin") == bytes(range(256))
    assert git.run("cat-file", "blob", f"{published.commit}:crlf.txt") == b"one\r\ntwo"


def test_what_is_not_the_judged_commit_is_not_pushed(world: World, monkeypatch: pytest.MonkeyPatch):
    bundle = world.bundle()
    stray = world.forge.commit(REPO, {"evil.txt": "x\n"}, branch="stray", author="bob")
    git = Git(world.forge.git_folder(REPO))
    tree = git.run("rev-parse", f"{stray}^{{tree}}").decode().strip()
    create = Repositories.create_commit

    others: tuple[dict[str, Any], ...] = ({"tree": tree}, {"parents": [stray]})
    for other in others:

        def lying(self: Repositories, other: dict[str, Any] = other, **fields: Any) -> str:
            return create(self, **{**fields, **other})

        monkeypatch.setattr(Repositories, "create_commit", lying)
        with pytest.raises(PublishError, match="made a different commit"):
            world.publish(bundle)
        assert set(world.branches()) == {"main", "stray"}


def test_a_dry_run_makes_no_commit(world: World):
    before = world.writes()
    world.publish(world.bundle(), dry_run=True)
    assert world.writes() == before
    assert world.said[0].startswith("would push: make agent/issue-1")

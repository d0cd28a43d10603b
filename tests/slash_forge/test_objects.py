"""Objects and refs that the forge writes itself are those that git would have written."""

import subprocess
from pathlib import Path

import pytest

from slash_forge.git import BareRepository, Signature, environment

WHO = Signature("Ada", "ada@example.org", 1_700_000_000)
ODD = Signature(' "Ada\n<L>".', "<ada@example.org>", 1_700_000_001)
FILES = {
    "a.txt": b"one\n",
    "a/b.txt": b"",
    "a/c/d.bin": b"\0\xff",
    "a-b": b"sorts between a.txt and a/",
    "ünd": "ö".encode(),
}


@pytest.fixture
def git(tmp_path: Path) -> BareRepository:
    return BareRepository.create(tmp_path / "lib.git", "main")


def committed_by_git(git: BareRepository, tree: str, parents: list[str]) -> str:
    variables = {
        "GIT_AUTHOR_NAME": WHO.name,
        "GIT_AUTHOR_EMAIL": WHO.email,
        "GIT_AUTHOR_DATE": f"{WHO.at} +0000",
        "GIT_COMMITTER_NAME": ODD.name,
        "GIT_COMMITTER_EMAIL": ODD.email,
        "GIT_COMMITTER_DATE": f"{ODD.at} +0000",
    }
    flags = [flag for parent in parents for flag in ("-p", parent)]
    written = git.run("commit-tree", tree, *flags, stdin="Grüße\n\nText\n".encode(), env=variables)
    return written.decode().strip()


def test_files_and_commits_have_the_ids_that_git_gives_them(git: BareRepository, tmp_path: Path) -> None:
    tree_folder = tmp_path / "tree"
    for name, content in FILES.items():
        (tree_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (tree_folder / name).write_bytes(content)
    first = git.commit_folder(tree_folder, "First\n", WHO, "main")
    other = git.write_files(None, FILES, "First\n", WHO)
    assert other == first == git.branch("main")
    tree = git.text("rev-parse", f"{first}^{{tree}}")
    second = git.write_commit(tree, [first], "Grüße\n\nText\n", WHO, ODD)
    assert second == committed_by_git(git, tree, [first])
    assert (
        subprocess.run(["git", "fsck", "--strict"], cwd=git.path, env=environment(), check=False).returncode
        == 0
    )

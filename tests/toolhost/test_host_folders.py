"""Whether a list of files may still serve: every way in which one comes, goes or is ignored must show."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.toolhost import listing
from bot.toolhost.listing import FolderSnapshot
from tests.support.workspaces import make_tree

FILES = {
    ".gitignore": "build/\n",
    "a.txt": "one\n",
    "src/deep/b.py": "print(1)\n",
    "build/.gitignore": "",
    "build/made.o": "1",
    "venv/.gitignore": "*\n",
    "venv/lib.py": "1",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    tree = make_tree(tmp_path / "tree", FILES)
    (tree / "empty" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tree)
    fd = os.open(tree, os.O_PATH | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def looked_at(root: int) -> FolderSnapshot:
    time.sleep(2 * listing.RACY / 1e9)
    snapshot = listing.snapshot_folders(root)
    assert snapshot is not None
    return snapshot


def test_a_tree_nobody_touched_is_still(root: int) -> None:
    assert looked_at(root).is_unchanged()


def test_writing_into_a_file_moves_nothing(root: int) -> None:
    before = looked_at(root)
    with open("src/deep/b.py", "a") as file:
        file.write("more\n")
    assert before.is_unchanged()


@pytest.mark.parametrize(
    "command",
    [
        "echo > new.txt",
        "echo > src/deep/new.py",
        "echo > empty/inner/new.txt",
        "rm a.txt",
        "mv src/deep/b.py src/deep/c.py",
        "mv src/deep src/other",
        "ln -s a.txt src/link",
        "mkdir -p src/more",
        "rm -r empty",
        "echo '*.txt' >> .gitignore",
        "echo > venv/.gitignore",
        "echo '*.txt' >> .git/info/exclude",
        "git rm -q --cached a.txt",
        "git add -f build/made.o",
        "git init -q src/deep",
        "touch -d 2001-01-01 .gitignore",
    ],
)
def test_whatever_changes_the_list_is_seen(root: int, command: str) -> None:
    before = looked_at(root)
    assert before.is_unchanged()
    subprocess.run(["bash", "-c", command], check=True, env={"PATH": os.environ["PATH"]})
    assert not before.is_unchanged()


def test_a_folder_that_moved_a_moment_ago_is_not_trusted(root: int) -> None:
    looked_at(root)
    Path("src/deep/new.py").touch()
    snapshot = listing.snapshot_folders(root)
    assert snapshot is not None
    assert not snapshot.is_unchanged()


def test_times_that_were_set_back_do_not_hide_a_change(root: int) -> None:
    before = looked_at(root)
    subprocess.run(
        ["bash", "-c", "touch -r src /tmp/$$; echo > src/n; touch -r /tmp/$$ src; rm /tmp/$$"], check=True
    )
    assert not before.is_unchanged()


def test_too_many_folders_are_not_looked_at(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_FOLDERS", 5)
    assert listing.snapshot_folders(root) is None

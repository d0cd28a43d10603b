"""The kept list of files: always what a fresh one would say, and git asked no more often than it must be."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from bot.toolhost import listing
from bot.toolhost.listing import FileListCache
from bot.toolhost.programs import Cancellation
from tests.support.workspaces import make_tree


class Counted:
    """`listing.list_files`, counting how often git was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        real = listing.list_files

        def counting(*arguments: object, **options: object) -> listing.FileList:
            self.times += 1
            return real(*arguments, **options)  # type: ignore[arg-type]  # handed on as they came

        monkeypatch.setattr(listing, "list_files", counting)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {".gitignore": "*.log\n", "a.txt": "one\n", "src/b.py": "print(1)\n", "srcs.txt": ""}
    made = make_tree(tmp_path / "tree", files)
    (made / "new.txt").touch()
    (made / "noise.log").touch()
    return made


@pytest.fixture
def known(tree: Path, tmp_path: Path) -> FileListCache:
    rest()
    return FileListCache(tree, tmp_path, Cancellation())


def rest() -> None:
    """Until what was just written is old enough for its times to be trusted."""
    time.sleep(2 * listing.RACY / 1e9)


def untracked(known: FileListCache, below: str = "") -> list[str] | None:
    names_and_untracked = known.names_and_untracked(below)
    assert names_and_untracked is not None
    assert names_and_untracked.names == known.names(below)
    return names_and_untracked.untracked


def test_names_are_those_of_a_fresh_list(known: FileListCache) -> None:
    assert known.names() == [".gitignore", "a.txt", "new.txt", "src/b.py", "srcs.txt"]


def test_names_below_a_folder_are_its_own(known: FileListCache) -> None:
    assert known.names("src") == ["src/b.py"]


def test_git_is_asked_once_while_nothing_moves(known: FileListCache, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    known.names()
    known.names("src")
    assert untracked(known) == ["new.txt"]
    assert counted.times == 1


def test_a_file_that_comes_is_listed(known: FileListCache, tree: Path) -> None:
    known.names()
    (tree / "src" / "late.py").touch()
    assert known.names_and_untracked() is None
    assert "src/late.py" in known.names()
    rest()
    known.names()
    assert untracked(known) == ["new.txt", "src/late.py"]
    assert untracked(known, "src") == ["src/late.py"]


def test_a_rule_that_changes_is_followed(known: FileListCache, tree: Path) -> None:
    known.names()
    with (tree / ".gitignore").open("a") as rules:
        rules.write("new.txt\n")
    assert "new.txt" not in known.names()


def test_a_tracked_file_is_not_untracked_even_if_it_is_ignored(known: FileListCache, tree: Path) -> None:
    subprocess.run(["git", "add", "-f", "noise.log"], cwd=tree, check=True)
    rest()
    assert "noise.log" in known.names()
    assert untracked(known) == ["new.txt"]


def test_where_folders_outnumber_files_git_is_asked_each_time(
    known: FileListCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_FREE", 0)
    counted = Counted(monkeypatch)
    assert known.names() == known.names()
    assert counted.times == 2


def test_a_list_made_without_git_is_not_kept(
    known: FileListCache, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        assert "a.txt" in known.names()
    assert known.names_and_untracked() is None

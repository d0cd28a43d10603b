"""Where a run keeps what it has, and how it goes away."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

from bot.session.run_folder import RunFolder, remove_tree


def clear(folder: RunFolder) -> None:
    folder.finish()
    folder.set_aside()
    folder.remove_set_aside()


def test_what_goes_by_itself_while_all_is_removed_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "gone")


def test_two_that_remove_the_same_at_once_both_come_to_an_end(tmp_path: Path) -> None:
    for name in range(300):
        (tmp_path / "run" / "tree" / str(name)).mkdir(parents=True)
        (tmp_path / "run" / "tree" / str(name) / "a").touch()
    other = threading.Thread(target=shutil.rmtree, args=(tmp_path / "run" / "tree", True))
    other.start()
    clear(RunFolder(tmp_path / "run"))
    other.join()
    assert os.listdir(tmp_path / "run") == []


def test_half_a_work_tree_is_not_taken_for_what_the_run_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path) -> None:
        raise KeyboardInterrupt

    folder = RunFolder(tmp_path)
    for name in ("tree", "history/tree", "bundle"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr("bot.session.run_folder.remove_tree", killed)
    with pytest.raises(KeyboardInterrupt):
        clear(folder)
    assert not folder.has_tree
    assert not folder.history.exists()
    assert folder.bundle.is_dir()


@pytest.mark.slow
def test_folders_in_folders_without_end_are_removed(tmp_path: Path) -> None:
    """More than Python calls itself, and a longer path than any call takes."""
    tree = tmp_path / "run" / "tree"
    tree.mkdir(parents=True)
    here = os.open(tree, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("folder", dir_fd=here)
        inner = os.open("folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    clear(RunFolder(tmp_path / "run"))
    assert os.listdir(tmp_path / "run") == []


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "run" / "tree" / "in").mkdir(parents=True)
    (tmp_path / "run" / "tree" / "out").symlink_to(kept)
    (tmp_path / "run" / "tree" / "in" / "out").symlink_to(kept)
    clear(RunFolder(tmp_path / "run"))
    assert os.listdir(kept) == ["file"]


def test_folders_that_were_closed_are_removed_without_root_too(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="closed-"))
    place.chmod(0o777)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other threads: the child calls nothing of theirs
            child = os.fork()
        if child == 0:
            code = 1
            try:
                code = _removed_as_nobody(place / "tree")
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert os.listdir(place) == []
    finally:
        shutil.rmtree(place)


def _removed_as_nobody(tree: Path) -> int:
    try:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        deepest = tree / "a" / "b" / "c"
        deepest.mkdir(parents=True)
        (deepest / "file").touch()
        for folder in (deepest, *list(deepest.parents)[:3]):
            folder.chmod(0)
        remove_tree(tree)
    except OSError:
        return 1
    return 0

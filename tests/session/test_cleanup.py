"""The result first, then the trees: who removes them, and what a run that died in between keeps."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from bot.session.run_folder import RunFolder, clean_up, clean_up_later, lock_folder
from tests.session.conftest import Cli
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.workspaces import eventually, running

MODEL = "anthropic/claude-sonnet-5-5"


def made(parent: Path, name: str, *, finished: bool) -> RunFolder:
    folder = RunFolder(parent / name)
    for one in ("tree/a", "tree-checks-before/a", "workspace-agent-0/tmp", "trusted.git/objects", "bundle"):
        (folder.root / one).mkdir(parents=True)
    folder.journal.write_text("{}\n")
    if finished:
        folder.finish()
    return folder


def test_what_a_finished_run_no_longer_needs_is_removed_and_nothing_else(tmp_path: Path) -> None:
    done, died = made(tmp_path, "1", finished=True), made(tmp_path, "2", finished=False)
    (tmp_path / "a file").touch()
    (tmp_path / "a link").symlink_to(done.root)
    clean_up(tmp_path)
    assert sorted(os.listdir(done.root)) == ["bundle", "journal.jsonl"]
    assert sorted(os.listdir(died.root)) == [
        "bundle",
        "journal.jsonl",
        "tree",
        "trusted.git",
        "workspace-agent-0",
    ]


def test_the_run_that_somebody_works_in_is_left_alone(tmp_path: Path) -> None:
    busy, other = made(tmp_path, "2", finished=True), made(tmp_path, "1", finished=True)
    with lock_folder(busy.root):
        clean_up(tmp_path)
        assert (busy.root / "gone-tree/a").is_dir()
    assert sorted(os.listdir(other.root)) == ["bundle", "journal.jsonl"]


def test_a_run_is_not_called_busy_while_its_rest_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = made(tmp_path, "1", finished=False)
    removed: list[str] = []

    def remove(folder: Path) -> None:
        with lock_folder(died.root):
            removed.append(folder.name)

    monkeypatch.setattr("bot.session.run_folder.remove_tree", remove)
    clean_up(tmp_path)
    assert removed == ["gone-tree-checks-before"]


def test_the_moment_in_which_the_cleanup_renames_is_waited_for(tmp_path: Path) -> None:
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        with lock_folder(tmp_path):
            held.set()
            time.sleep(0.1)
            released.set()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with lock_folder(tmp_path):
        assert released.is_set()
    thread.join()


def test_a_cleaner_that_was_killed_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path) -> None:
        raise KeyboardInterrupt

    folder = made(tmp_path, "1", finished=True)
    with monkeypatch.context() as patched:
        patched.setattr("bot.session.run_folder.remove_tree", killed)
        with pytest.raises(KeyboardInterrupt):
            clean_up(tmp_path)
    clean_up(tmp_path)
    assert sorted(os.listdir(folder.root)) == ["bundle", "journal.jsonl"]


def test_a_runner_throws_its_disk_away_itself(tmp_path: Path) -> None:
    folder = made(tmp_path / "slash-agent", "1", finished=True)
    clean_up_later({"RUNNER_TEMP": str(tmp_path)})
    assert not running(f"{tmp_path}/slash-agent")
    assert (folder.root / "gone-tree").is_dir()


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_result_does_not_wait_for_the_trees(cli: Cli, repo: Path) -> None:
    """A folder of the run cannot be locked while its trees are removed, and the command is back by then."""
    runs = cli.home / ".local/state/slash-agent/runs"
    old = made(runs, "0", finished=True)
    with lock_folder(old.root), ModelServer(fix_steps()) as server:
        ran = cli("fix", "--repo", repo, "--model", MODEL, "--json", "fix it", model=server)
    assert ran.code == 0, ran.err
    [folder] = [path for path in runs.iterdir() if path != old.root]
    assert not RunFolder(folder).has_tree
    assert eventually(lambda: [path.name for path in folder.iterdir() if path.is_dir()] == ["bundle"])


@pytest.mark.slow
def test_the_cleaner_is_a_session_of_its_own_that_holds_nothing(tmp_path: Path) -> None:
    """It outlives the terminal and keeps no pipe open."""
    parent = tmp_path / ".local/state/slash-agent/runs"
    folder = made(parent, "1", finished=True)
    for number in range(20_000):
        (folder.root / f"gone-tree/a/{number}").touch()
    clean_up_later({"HOME": str(tmp_path)})
    assert eventually(lambda: bool(running(str(parent))) or not (folder.root / "gone-tree").exists())
    for pid in running(str(parent)):
        assert os.getsid(pid) == pid
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    clean_up(parent)
    assert sorted(os.listdir(folder.root)) == ["bundle", "journal.jsonl"]

"""The folder of a run: one run at a time, how it goes away, and who removes its trees after the result."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode
from bot.run.run import run
from bot.session.context.run import RunSpec
from bot.session.run_folder import FolderBusy, RunFolder, lock_folder, remove_tree
from tests.session.conftest import Cli
from tests.support.fix_script import fix_steps
from tests.support.sessions import header
from tests.support.workspaces import eventually, running


def made(parent: Path, name: str, *, finished: bool) -> RunFolder:
    folder = RunFolder(parent / name)
    for one in ("tree/a", "tree-checks-before/a", "workspace-agent-0/tmp", "trusted.git/objects", "bundle"):
        (folder.root / one).mkdir(parents=True)
    folder.journal.write_text("{}\n")
    if finished:
        folder.finish()
    return folder


FINISHED = ["bundle", "journal.jsonl"]
DIED = [*FINISHED, "tree", "trusted.git", "workspace-agent-0"]


@pytest.mark.parametrize(("finished", "kept"), [(True, FINISHED), (False, DIED)])
def test_what_a_run_no_longer_needs_is_removed_and_nothing_else(
    tmp_path: Path, finished: bool, kept: list[str]
):
    folder, other = made(tmp_path, "1", finished=finished), made(tmp_path, "2", finished=True)
    folder.tidy()
    assert eventually(lambda: sorted(os.listdir(folder.root)) == kept)
    assert (other.root / "gone-tree/a").is_dir()


def test_of_a_run_that_had_not_begun_nothing_stays(tmp_path: Path):
    folder = made(tmp_path, "1", finished=False)
    folder.journal.unlink()
    folder.tidy()
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_result_does_not_wait_for_the_trees(cli: Cli, repo: Path):
    runs = cli.home / ".local/state/slash-agent/runs"
    ran = cli.on(repo, "fix", "--json", "fix it", model=fix_steps())
    assert ran.code == 0, ran.err
    [folder] = runs.iterdir()
    assert not RunFolder(folder).has_tree
    assert eventually(lambda: [path.name for path in folder.iterdir() if path.is_dir()] == ["bundle"])


@pytest.mark.slow
def test_what_removes_is_a_session_of_its_own_that_holds_nothing(tmp_path: Path):
    """It outlives the terminal and keeps no pipe open."""
    folder = made(tmp_path, "1", finished=True)
    for number in range(20_000):
        (folder.root / f"gone-tree/a/{number}").touch()
    folder.tidy()
    assert eventually(lambda: bool(running(str(folder.root))) or not (folder.root / "gone-tree").exists())
    for pid in running(str(folder.root)):
        assert os.getsid(pid) != os.getsid(0)
        assert b"HOME" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert eventually(lambda: sorted(os.listdir(folder.root)) == FINISHED)


def test_two_that_remove_the_same_at_once_both_come_to_an_end(tmp_path: Path):
    for name in range(300):
        (tmp_path / "run" / "tree" / str(name)).mkdir(parents=True)
        (tmp_path / "run" / "tree" / str(name) / "a").touch()
    other = threading.Thread(target=shutil.rmtree, args=(tmp_path / "run" / "tree", True))
    other.start()
    RunFolder(tmp_path / "run").clear()
    other.join()
    assert os.listdir(tmp_path / "run") == []


def test_half_a_work_tree_is_not_taken_for_what_the_run_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def killed(folder: Path) -> None:
        raise KeyboardInterrupt

    folder = RunFolder(tmp_path)
    for name in ("tree", "history/tree", "bundle"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr("bot.session.run_folder.remove_tree", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.clear()
    assert not folder.has_tree
    assert not folder.history.exists()
    assert folder.bundle.is_dir()


@pytest.mark.slow
def test_folders_in_folders_without_end_are_removed(tmp_path: Path):
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
    RunFolder(tmp_path / "run").clear()
    assert os.listdir(tmp_path / "run") == []


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "run" / "tree" / "in").mkdir(parents=True)
    (tmp_path / "run" / "tree" / "out").symlink_to(kept)
    (tmp_path / "run" / "tree" / "in" / "out").symlink_to(kept)
    RunFolder(tmp_path / "run").clear()
    assert os.listdir(kept) == ["file"]


def test_folders_that_were_closed_are_removed_without_root_too(tmp_path: Path):
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


HOLD = """
import subprocess, sys
from pathlib import Path
from bot.session.run_folder import lock_folder
with lock_folder(Path(sys.argv[1])):
    # A child that outlives its parent must not keep the lock.
    child = subprocess.Popen(["sleep", "60"])
    print(child.pid, flush=True)
    sys.stdin.read()
"""


def test_a_second_run_in_one_process_is_refused_and_the_first_ends_freely(tmp_path: Path):
    with lock_folder(tmp_path):
        with pytest.raises(FolderBusy, match="busy: another run uses") as caught, lock_folder(tmp_path):
            pass
        assert caught.value.exit_code is ExitCode.UNAVAILABLE
    with lock_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_another_process_is_refused_until_the_first_is_dead_however_it_died(tmp_path: Path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    child = 0
    try:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        with pytest.raises(FolderBusy), lock_folder(tmp_path):
            pass
        other.kill()
        other.wait(timeout=60)
        with lock_folder(tmp_path):
            pass
    finally:
        other.kill()
        if child:
            os.kill(child, signal.SIGKILL)  # before the pipe is read to its end, which it holds open
        other.communicate(timeout=60)


def test_a_run_in_a_folder_that_another_has_is_refused_before_it_begins(tmp_path: Path):
    asked = RunSpec(request=header().request, source=None, folder=RunFolder(tmp_path), environment={})  # type: ignore[arg-type]  # it must not get so far as to need them
    (tmp_path / "kept").write_text("of the other run")
    with lock_folder(tmp_path), pytest.raises(FolderBusy):
        run(asked)
    assert (tmp_path / "kept").exists()

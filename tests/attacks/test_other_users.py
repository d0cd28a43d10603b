"""Another user of the machine wants our cleanup to remove, or a run to use, a folder of their choice (A-100)."""

import fcntl
import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli.main import run
from bot.contracts.errors import AgentError, ExitCode
from bot.run.salvage import newest_run
from bot.session.run_folder import RunFolder, new_folder, parent_folder, remove_run

SOMEBODY = 54321


def made(root: Path) -> RunFolder:
    """The folder of a finished run, and something in it that its end removes."""
    folder = RunFolder(root)
    (root / "gone-tree/deep").mkdir(parents=True)
    (root / "trusted.git").mkdir()
    folder.journal.write_text("{}\n")
    return folder


def left(folder: RunFolder) -> list[str]:
    return sorted(os.listdir(folder.root))


WHOLE = ["gone-tree", "journal.jsonl", "trusted.git"]


def test_a100_without_home_runs_are_kept_in_the_home_of_the_password_database():
    home = pwd.getpwuid(os.geteuid()).pw_dir
    expected = Path(home) / ".local/state/slash-agent/runs"
    for environment in ({}, {"HOME": ""}, {"HOME": "."}, {"HOME": "", "XDG_STATE_HOME": "state"}):
        assert parent_folder(environment) == expected


def test_a100_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch):
    def unknown(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr("bot.session.run_folder.pwd.getpwuid", unknown)
    with pytest.raises(AgentError, match="Set XDG_STATE_HOME") as caught:
        new_folder({})
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


def _linked(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


OPEN: dict[str, Callable[[Path], object]] = {
    "everybody may write in it": lambda folder: folder.chmod(0o777),
    "as in a temporary folder": lambda folder: folder.chmod(0o1777),
    "a group may write in it": lambda folder: folder.chmod(0o770),
    "it is a link": _linked,
    "it belongs to somebody else": lambda folder: os.chown(folder, SOMEBODY, -1),
}


@pytest.mark.parametrize("level", ["slash-agent", "slash-agent/runs"])
@pytest.mark.parametrize("how", OPEN)
def test_a100_a_folder_that_others_can_change_is_not_used(
    how: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    if "somebody" in how and os.geteuid():
        pytest.skip("only root can give a folder away")
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    parent = parent_folder(environment)
    old = made(parent / "1")
    OPEN[how](tmp_path / level)
    for use in (lambda: new_folder(environment), lambda: newest_run(environment)):
        with pytest.raises(AgentError, match="set XDG_STATE_HOME"):
            use()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("RUNNER_TEMP", raising=False)
    assert run(["clean", "--yes"]) == ExitCode.UNAVAILABLE
    assert run(["clean", "--yes", str(old.root)]) == ExitCode.UNAVAILABLE
    assert "set XDG_STATE_HOME" in capsys.readouterr().err
    assert left(old) == WHOLE


@pytest.fixture
def swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RunFolder, RunFolder]:
    """A run, and a folder that stands in its place by a link as soon as it is locked."""
    ours, victim = made(tmp_path / "runs/1"), made(tmp_path / "victim")
    (tmp_path / "runs").chmod(0o700)
    flock = fcntl.flock

    def lock_and_swap(descriptor: int, operation: int) -> None:
        flock(descriptor, operation)
        ours.root.rename(tmp_path / "moved")
        ours.root.symlink_to(victim.root)

    monkeypatch.setattr("bot.session.run_folder.fcntl.flock", lock_and_swap)
    return ours, victim


def test_a100_a_run_is_removed_where_it_was_locked(swapped: tuple[RunFolder, RunFolder], tmp_path: Path):
    ours, victim = swapped
    with pytest.raises(NotADirectoryError):
        remove_run(ours, finished=True)
    assert left(victim) == WHOLE
    assert os.listdir(tmp_path / "moved") == []


def test_a100_a_run_folder_of_somebody_else_is_left_alone(tmp_path: Path):
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    foreign = made(tmp_path / "1")
    os.chown(foreign.root, SOMEBODY, -1)
    assert not remove_run(foreign, finished=False)
    assert left(foreign) == WHOLE


NO_JOURNAL: dict[str, Callable[[Path], object]] = {
    "none": lambda journal: None,
    "a link": lambda journal: journal.symlink_to("/etc/hostname"),
    "a folder": Path.mkdir,
    "a fifo": os.mkfifo,
}


@pytest.mark.parametrize("kind", NO_JOURNAL)
def test_a100_a_folder_without_a_runs_journal_is_no_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("RUNNER_TEMP", raising=False)
    other = RunFolder(parent_folder(os.environ) / "notes")
    (other.root / "trusted.git").mkdir(parents=True)
    NO_JOURNAL[kind](other.journal)
    before = left(other)
    assert run(["clean", "--yes"]) == ExitCode.DONE
    assert "not a run, it has no journal" in capsys.readouterr().out
    assert run(["clean", "--yes", str(other.root)]) == ExitCode.USAGE
    assert left(other) == before

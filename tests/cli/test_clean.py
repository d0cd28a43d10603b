"""`slash-agent clean`: what it removes, and what it never does."""

import os
from pathlib import Path

import pytest

from bot.cli.main import run
from bot.session.run_folder import RunFolder, lock_folder


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs: `done`, `died` with its tree, and a link to a folder that is no run."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("RUNNER_TEMP", raising=False)
    parent = tmp_path / "slash-agent" / "runs"
    for name in ("done", "died"):
        (parent / name / "bundle").mkdir(parents=True)
        (parent / name / "journal.jsonl").write_text("x" * 50_000)
    (parent / "died" / "tree").mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (parent / "link").symlink_to(tmp_path / "precious")
    (parent / "done" / "bundle" / "link").symlink_to(tmp_path / "precious")
    return parent


def test_it_removes_finished_runs_and_says_how_much(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["clean", "--yes"]) == 0
    assert sorted(os.listdir(runs)) == ["died", "link"]
    assert (runs.parents[1] / "precious" / "file").exists()
    said = capsys.readouterr().out
    assert "not finished; recover it with salvage" in said
    assert "Removed 1 run, 0.1 MB." in said


def test_a_dry_run_and_a_program_that_does_not_say_yes_remove_nothing(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert run(["clean", "--dry-run"]) == 0
    assert "Nothing was removed: 1 run, 0.1 MB could be." in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115 - closed with the test
    assert run(["clean"]) == 2
    assert sorted(os.listdir(runs)) == ["died", "done", "link"]


def test_one_that_died_is_removed_if_it_is_named_and_one_at_work_never(runs: Path):
    with lock_folder(runs / "died"), lock_folder(runs / "done"):
        assert run(["clean", "--yes", str(runs / "died")]) == 0
        assert run(["clean", "--yes"]) == 0
        assert sorted(os.listdir(runs)) == ["died", "done", "link"]
    assert run(["clean", "--yes", str(runs / "died")]) == 0
    assert sorted(os.listdir(runs)) == ["done", "link"]


@pytest.mark.parametrize("name", ["link", "..", "done/bundle", "../../precious", "gone"])
def test_nothing_else_can_be_named(runs: Path, name: str, capsys: pytest.CaptureFixture[str]):
    assert run(["clean", "--yes", str(runs / name)]) == 2
    assert "is no run of this machine" in capsys.readouterr().err
    assert (runs.parents[1] / "precious" / "file").exists()
    assert sorted(os.listdir(runs)) == ["died", "done", "link"]


def test_the_size_is_that_of_the_run_and_not_of_what_links_lead_to(runs: Path):
    from bot.session.run_folder import size_of

    (runs.parents[1] / "precious" / "file").write_bytes(b"x" * 5_000_000)
    assert size_of(RunFolder(runs / "done").root) < 1_000_000

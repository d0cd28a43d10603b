"""A run whose work tree is kept, and what else of its folder is damaged: the tree is recovered all the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.contracts.errors import UsageError
from bot.publish.bundle.read import read_bundle
from bot.run.cleanup import clean_up
from bot.run.folder import RunFolder
from bot.run.local import Fix, fix
from bot.run.lock import FolderBusy, held
from bot.run.salvage import salvage
from tests.run.test_no_room import Nobody
from tests.support.fix_script import DONE, EDITS, VIEW, shell
from tests.support.model_script import Say, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import sample_repository

pytestmark = pytest.mark.bubblewrap

CHANGED = ["tidytime/format.py"]


def ran(home: Path, *steps: Step, resume: Path | None = None) -> RunFolder:
    """A run on the sample in `home`, and its folder."""
    repo = home / "tidytime"
    if not repo.exists():
        sample_repository(repo)
    runs = home / ".local/state/slash-agent/runs"
    before = set(runs.glob("*"))
    with ModelServer(steps) as server:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), **server.environment()}
        fix(Fix(repo, "fix it", "anthropic/claude-sonnet-4-5", resume=resume), environment, Nobody())
    [root] = set(runs.glob("*")) - before
    return RunFolder(root)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Its tree is kept for a file that no patch can hold."""
    stray = shell("head -c 6M /dev/urandom > core")
    return ran(tmp_path_factory.mktemp("kept"), VIEW, Turn(EDITS), stray, DONE, DONE)


@pytest.fixture
def folder(kept: RunFolder, tmp_path: Path) -> RunFolder:
    shutil.copytree(kept.root, tmp_path / "run", symlinks=True)
    shutil.rmtree(tmp_path / "run" / "bundle")
    return RunFolder(tmp_path / "run")


def spoil_a_line(folder: RunFolder) -> None:
    rows = folder.journal.read_bytes().split(b"\n")
    rows[len(rows) // 2] = b"\0" * 100
    folder.journal.write_bytes(b"\n".join(rows))


def spoil_the_header(folder: RunFolder) -> None:
    folder.journal.write_bytes(b"\0" * 50 + folder.journal.read_bytes()[50:])


DAMAGES: dict[str, Callable[[RunFolder], object]] = {
    "a line of the journal": spoil_a_line,
    "the journal's header": spoil_the_header,
    "an empty journal": lambda folder: folder.journal.write_bytes(b""),
    "no journal": lambda folder: folder.journal.unlink(),
    "no git directory": lambda folder: shutil.rmtree(folder.root / "trusted.git"),
    "an object is missing": lambda folder: shutil.rmtree(folder.root / "trusted.git/objects"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_beside_the_tree_costs_no_change(folder: RunFolder, tmp_path: Path, damage: str) -> None:
    """Breaks: bot/run/one_run.py "run.job.folder.keep_header()"."""
    DAMAGES[damage](folder)
    outcome = salvage(folder.root, {}, tmp_path / "out").outcome
    assert [file.path for file in outcome.files] == CHANGED
    assert any("was damaged" in note for note in outcome.notes) is (
        "git" not in damage and "object" not in damage
    )
    assert [file.path for file in read_bundle(tmp_path / "out").outcome.files] == CHANGED
    again = salvage(folder.root, {}, tmp_path / "out").outcome
    assert [file.path for file in again.files] == CHANGED


def test_a_git_directory_that_cannot_be_had_again_is_said_with_the_tree(
    folder: RunFolder, kept: RunFolder
) -> None:
    shutil.rmtree(folder.root / "trusted.git")
    origin = kept.root.parents[4] / "tidytime"
    origin.rename(origin.with_name("moved"))
    try:
        with pytest.raises(UsageError, match=f"The run's work tree is whole: {folder.tree}"):
            salvage(folder.root, {})
    finally:
        origin.with_name("moved").rename(origin)


def test_a_run_at_work_is_not_salvaged(folder: RunFolder) -> None:
    """Breaks: bot/run/salvage.py "with held(folder.root):"."""
    with held(folder.root), pytest.raises(FolderBusy):
        salvage(folder.root, {})


def test_continue_takes_the_tree_of_a_run_with_a_damaged_journal(tmp_path: Path) -> None:
    """Breaks: bot/run/local.py "if folder.has_tree or"."""
    first = ran(tmp_path, VIEW, Turn(EDITS), shell("head -c 6M /dev/urandom > core"), DONE, DONE)
    spoil_a_line(first)
    (first.tree / "later.txt").write_text("by hand\n")
    second = ran(tmp_path, DONE, resume=first.root)
    files = read_bundle(second.bundle).outcome.files
    assert [file.path for file in files] == ["later.txt", *CHANGED]


def test_of_a_run_that_died_one_tree_stays_and_it_can_be_salvaged(folder: RunFolder, tmp_path: Path) -> None:
    """Breaks: bot/run/cleanup.py "folder.drop_rest() if folder.has_tree"."""
    for name in (
        "tree-checks-before",
        "tree-prepared",
        "workshop-checks-before/tmp",
        "versions",
        "gone-tree",
    ):
        (folder.root / name).mkdir(parents=True, exist_ok=True)
    (folder.root / "a link").symlink_to(tmp_path)
    clean_up(folder.root.parent)
    left = {path.name for path in folder.root.iterdir() if path.is_dir() and not path.is_symlink()}
    assert left <= {"tree", "trusted.git", "archive", "workshop-agent-0"}
    assert [file.path for file in salvage(folder.root, {}, tmp_path / "out").outcome.files] == CHANGED


def test_ten_megabytes_of_last_words_are_cut_and_the_bundle_is_read(tmp_path: Path) -> None:
    """Breaks: bot/run/conclude.py "answer=_capped(end.final_text)"."""
    folder = ran(tmp_path, Say("word " * 2_000_000))
    answer = read_bundle(folder.bundle).outcome.answer
    assert len(answer) < 66_000
    assert answer.endswith("more characters were left out here; the journal has them]")

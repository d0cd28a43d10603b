"""`patch` in whole runs: the policy's word on its files, and the versions that a journal brings back."""

import os
from pathlib import Path

import pytest

from bot.agent.journal import read_journal
from bot.contracts import journal as lines
from tests.session.conftest import Cli
from tests.support.fix_script import DESCRIBE, DONE, VIEW, shell
from tests.support.model_script import Call, Step, Turn
from tests.support.repositories import commit_all

pytestmark = pytest.mark.bubblewrap

FORMAT, CHANGES = "tidytime/format.py", "CHANGELOG.md"
LOOK = Turn((VIEW, Call("view", {"path": CHANGES}), Call("view", {"path": "tidytime/units.py"})))


def patch(*rows: str) -> Call:
    return Call("patch", {"patch": "\n".join(["*** Begin Patch", *rows, "*** End Patch"])})


PATCH = patch(
    f"*** Update File: {FORMAT}", "@@", "-    remaining = abs(seconds)", "+    remaining = round(abs(seconds))",
    f"*** Delete File: {CHANGES}", "*** Update File: tidytime/units.py", "*** Move to: tidytime/unit.py",
    "*** Add File: docs/new.md", "+# New",
)  # fmt: skip


def run(cli: Cli, repo: Path, out: Path, *steps: Step) -> Path:
    """The journal of a run of `steps`."""
    ran = cli.on(repo, "fix", "--out", out, "x", model=[LOOK, *steps, DONE, DONE])
    assert ran.code == 0, ran.output
    return out / "journal.jsonl"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "bundle"


WRONG = ("*** Update File: tidytime/units.py", "@@", "-no such line", "+x")


@pytest.mark.slow
def test_what_needs_a_failed_edit_is_not_run_in_the_same_answer(cli: Cli, repo: Path, bundle: Path):
    other = Call("write", {"path": "docs/new.md", "content": "# New\n"})
    answer = Turn((patch(*WRONG), shell("touch ran.txt"), VIEW, DESCRIBE, other))
    journal = run(cli, repo, bundle, answer, shell("echo more >> docs/new.md"))
    results = [one for one in read_journal(journal).records(lines.Result) if one.turn == 2]
    assert [(one.name, one.executed, one.is_error) for one in results] == [
        ("patch", True, True), ("bash", False, True), ("view", True, False), ("describe_change", False, True),
        ("write", True, False),
    ]  # fmt: skip
    assert results[1].content == "Not run: the patch before it failed."
    change = (bundle / "changes.patch").read_text()
    assert "ran.txt" not in change
    assert "+more" in change


@pytest.mark.slow
def test_each_version_of_a_file_can_be_listed_and_brought_back(cli: Cli, repo: Path, bundle: Path):
    (repo / CHANGES).chmod(0o755)
    commit_all(repo)
    steps: list[Step] = [PATCH, shell(f"echo '# by hand' >> {FORMAT}; printf 'a\\0' > b")]
    journal = run(cli, repo, bundle, *steps)
    listed = cli("restore", journal, "--repo", repo).out
    assert f"{FORMAT}\n  0  base: as it was" in listed
    assert "\n  1  turn 2, patch: +1 -1" in listed
    assert "\n  2  turn 3, bash: changed" in listed
    assert f"{CHANGES}\n  0  base: as it was" in listed
    assert "\n  1  turn 2, patch: deleted\n" in listed
    assert CHANGES not in cli("restore", journal, "--repo", repo, "--path", FORMAT).out

    def restored(path: str, version: int, *more: str) -> str:
        ran = cli("restore", journal, "--repo", repo, "--path", path, "--version", version, *more)
        assert ran.code == 0, ran.output
        return ran.out

    original = (repo / FORMAT).read_bytes()
    mode = (repo / FORMAT).stat().st_mode
    assert restored(FORMAT, 2).startswith(f"{FORMAT} is as it was at version 2 (bash, changed): ")
    assert (repo / FORMAT).read_bytes().endswith(b"# by hand\n")
    restored(FORMAT, 1)
    assert b"round(abs(seconds))" in (repo / FORMAT).read_bytes()
    assert b"# by hand" not in (repo / FORMAT).read_bytes()
    restored(FORMAT, 0)
    assert (repo / FORMAT).read_bytes() == original
    assert (repo / FORMAT).stat().st_mode == mode
    assert "already" in restored(FORMAT, 0)
    changes = (repo / CHANGES).read_bytes()
    assert "it is gone" in restored(CHANGES, 1)
    assert not (repo / CHANGES).exists()
    restored(CHANGES, 0)
    assert (repo / CHANGES).read_bytes() == changes
    assert (repo / CHANGES).stat().st_mode & 0o777 == 0o755
    restored("docs/new.md", 1)
    assert (repo / "docs/new.md").read_text() == "# New\n"
    restored("tidytime/unit.py", 1)
    assert (repo / "tidytime/unit.py").read_bytes() == (repo / "tidytime/units.py").read_bytes()
    restored("b", 1)
    assert (repo / "b").read_bytes() == b"a\0"


@pytest.mark.slow
def test_what_a_restore_would_lose_is_kept_unless_it_is_forced(cli: Cli, repo: Path, bundle: Path):
    journal = run(cli, repo, bundle, PATCH)
    (repo / FORMAT).write_text("mine, and nowhere else\n")
    arguments = ("restore", journal, "--repo", repo, "--path", FORMAT, "--version", 1)
    ran = cli(*arguments)
    assert ran.code == 2
    assert "neither committed nor of the run" in ran.err
    assert (repo / FORMAT).read_text() == "mine, and nowhere else\n"
    assert cli(*arguments, "--force").code == 0
    assert "round(abs(seconds))" in (repo / FORMAT).read_text()


@pytest.mark.slow
def test_a_restore_that_cannot_be_says_why(cli: Cli, repo: Path, bundle: Path, tmp_path: Path):
    journal = run(cli, repo, bundle, PATCH)

    def refused(path: str, version: int, of: Path = journal) -> str:
        ran = cli("restore", of, "--repo", repo, "--path", path, "--version", version)
        assert ran.code == 2
        assert len(ran.err.splitlines()) == 1
        return ran.err

    assert "has no version 7: it has 0 to 1" in refused(FORMAT, 7)
    assert f"Did you mean {FORMAT}?" in refused("tidytime/fromat.py", 0)
    for path in ("../outside.md", ".git/hooks/post-checkout", "link/new.md"):
        hostile = tmp_path / "hostile.jsonl"
        hostile.write_text(journal.read_text().replace("docs/new.md", path))
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        if not (repo / "link").exists():
            os.symlink(tmp_path / "elsewhere", repo / "link")
        refused(path, 1, hostile)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (repo.parent / "outside.md").exists()
    assert not (repo / ".git/hooks/post-checkout").exists()

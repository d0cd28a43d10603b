"""Checks where the tree cannot be shown at the repository's own path, and Python code is installed by that path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.check import Check, denied_path, denied_path_note
from bot.workspace.sandbox.backends import bubblewrap, landlock
from bot.workspace.sandbox.landlock import OLDEST, version
from tests.support.rounds import run_checks
from tests.support.workspaces import Bench, make_tree

OLD, NEW = "print('the old code')\n", "print('the new code')\n"
needs_landlock = pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """`origin` is what an editable install in the tree's own virtual environment leads to."""
    for name, text in (("origin", OLD), ("tree", NEW)):
        make_tree(tmp_path / name, {"src/app.py": text, "package.json": "{}"})
    packages = tmp_path / "tree/.venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "__editable__.app-1.pth").write_text(f"{tmp_path}/origin/src\n")
    files = Bench(tmp_path, tmp_path / "tree")
    yield files
    files.close()


def run(bench: Bench, back_end: object, origin: str, *commands: str) -> tuple[CheckRun, ...]:
    assert callable(back_end)
    workspace = bench.start(back_end(), mount=str(bench.folder / "origin"))
    rans = run_checks(workspace, [Check(one, one, 60) for one in commands], origin=origin)
    return tuple(ran.run for ran in rans)


LOAD = "python3 -c \"import site; site.addsitedir('.venv/lib/python3.11/site-packages'); import app\""


@needs_landlock
def test_under_landlock_a_module_that_cannot_be_shown_fails_no_check_and_is_explained(bench: Bench) -> None:
    origin = str(bench.folder / "origin")
    first, second = run(bench, landlock, origin, LOAD, "test -f package.json")
    assert (first.state, second.state) == (CheckState.NOT_RUNNABLE, CheckState.PASSED)
    assert (
        f"No module named 'app'. If it is installed as a link to {origin}, this sandbox cannot show"
        in first.note
    )


@needs_landlock
def test_a_program_of_an_environment_that_was_made_there_fails_no_check(bench: Bench) -> None:
    home = bench.folder / "origin/.venv"
    (home / "bin").mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (home / "bin/python").symlink_to("/usr/bin/python3")
    (bench.tree / ".venv/bin").mkdir()
    program = bench.tree / ".venv/bin/tests"
    program.write_text(f"#!{home}/bin/python\nprint(1)\n")
    program.chmod(0o755)
    runs = run(bench, landlock, str(bench.folder / "origin"), ".venv/bin/tests", "test -f nothing")
    assert [one.state for one in runs] == [CheckState.NOT_RUNNABLE, CheckState.FAILED]
    assert runs[0].note.startswith(f"it needs {home}/pyvenv.cfg, in the repository's own folder")
    assert "`.venv/bin/python -m pytest`" in runs[0].note


@needs_landlock
def test_words_on_that_folder_hide_no_limit_that_was_met(bench: Bench) -> None:
    origin = str(bench.folder / "origin")
    workspace = bench.start(landlock(), limits={"processes": 10})
    command = f"echo {origin}/a: Permission denied; for i in $(seq 30); do sleep 60 & done; wait"
    [ran] = run_checks(workspace, [Check("x", command, 60)], origin=origin)
    assert ran.run.state is CheckState.FAILED
    assert ran.run.note.startswith("it met a limit of the sandbox: ")


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_under_bubblewrap_the_tree_is_there_and_the_check_looks_at_it(bench: Bench) -> None:
    [runs] = run(bench, bubblewrap, "", LOAD)
    assert runs.state is CheckState.PASSED
    assert "the new code" in runs.tail


@pytest.mark.parametrize(
    ("printed", "path"),
    [
        (
            "PermissionError: [Errno 13] Permission denied: '/srv/app/.venv/pyvenv.cfg'",
            "/srv/app/.venv/pyvenv.cfg",
        ),
        ("Error: EACCES: permission denied, open '/srv/app/lib/index.js'", "/srv/app/lib/index.js"),
        ("sh: 1: /srv/app/run: Permission denied", "/srv/app/run"),
        ("ls: cannot open directory '/srv/app': Permission denied", "/srv/app"),
        ("open /srv/application/x: permission denied", ""),
        ("open /mnt/srv/app/x: permission denied", ""),
        ("open /srv/app.old/x: permission denied", ""),
        ("/srv/app/x.py:3: AssertionError", ""),
    ],
)
def test_a_path_that_was_refused_is_found(printed: str, path: str) -> None:
    assert denied_path(f"one\n{printed}\ntwo", "/srv/app") == path


def test_what_to_do_about_a_link_is_not_what_helps_with_an_environment() -> None:
    assert "a link" in denied_path_note("/srv/app/lib/index.js")
    assert "-m pytest" in denied_path_note("/srv/app/.venv/bin/python3.12")

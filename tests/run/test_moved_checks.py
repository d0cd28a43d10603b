"""Checks where the tree cannot be shown at the repository's own path, and Python code is installed by that path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.detect import Check
from bot.evidence.moved import concerns
from bot.run.checks import run_checks
from bot.sandbox.choose import bubblewrap, landlock
from bot.sandbox.landlock import OLDEST, version
from tests.support.workshops import Bench, make_tree

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
    made = Bench(tmp_path, tmp_path / "tree")
    yield made
    made.close()


def run(bench: Bench, back_end: object, origin: str, *commands: str) -> tuple[CheckRun, ...]:
    assert callable(back_end)
    workshop = bench.start(back_end(), mount=str(bench.folder / "origin"))
    rans = run_checks(workshop, [Check(one, one, 60) for one in commands], CancelToken(), origin)
    return tuple(ran.run for ran in rans)


LOAD = "python3 -c \"import site; site.addsitedir('.venv/lib/python3.11/site-packages'); import app\""


@needs_landlock
def test_under_landlock_such_a_check_says_nothing_and_why(bench: Bench) -> None:
    """Breaks: bot/run/checks.py "if moved and concerns(check.command):"."""
    origin = str(bench.folder / "origin")
    first, second = run(bench, landlock, origin, LOAD, "test -f package.json")
    assert (first.state, second.state) == (CheckState.NOT_RUNNABLE, CheckState.PASSED)
    assert first.note.startswith(
        ".venv/lib/python3.11/site-packages/__editable__.app-1.pth is an editable install of"
    )
    assert origin in first.note


@needs_landlock
def test_without_such_an_install_it_is_run(bench: Bench) -> None:
    [found] = run(bench, landlock, str(bench.folder / "another"), "python3 -c 'print(1)'")
    assert found.state is CheckState.PASSED


@pytest.mark.bubblewrap
def test_under_bubblewrap_the_tree_is_there_and_the_check_looks_at_it(bench: Bench) -> None:
    [found] = run(bench, bubblewrap, "", LOAD)
    assert found.state is CheckState.PASSED
    assert "the new code" in found.tail


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "python -m unittest", ".venv/bin/pytest", "make test", "uv run mypy", "python3.12 x.py"],
)
def test_what_may_import_the_package_is_concerned(command: str) -> None:
    assert concerns(command)


@pytest.mark.parametrize(
    "command", ["npm test", "go test ./...", "cargo test", "ruff check", "test -f pytest.ini"]
)
def test_what_does_not_is_not(command: str) -> None:
    assert not concerns(command)

"""Portions of a tree: together they are all of it, none twice, and of about the same size."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.workshop.host import search
from bot.workshop.host.folders import RACY
from bot.workshop.host.listing import ScratchRepository
from bot.workshop.host.portions import portions
from bot.workshop.host.programs import Finished
from tests.workshop.host.conftest import Bench

_PART = st.text("ab-0._\u00e4", min_size=1, max_size=3)
_NAMES = st.lists(st.lists(_PART, min_size=1, max_size=4).map("/".join), min_size=1, max_size=60)


def covered(names: list[str], paths: list[str]) -> list[str]:
    return [name for name in names if any(name == path or name.startswith(f"{path}/") for path in paths)]


def a_tree(names: list[str]) -> list[str]:
    """Sorted, without a name that is both a file and a folder."""
    return sorted(name for name in set(names) if not any(o.startswith(f"{name}/") for o in names))


@given(_NAMES, st.integers(2, 4))
def test_every_file_is_in_one_portion(names: list[str], count: int) -> None:
    tree = a_tree(names)
    parts = portions(tree, count)
    if parts != [[]]:
        assert len(parts) == count
        assert sorted(name for paths in parts for name in covered(tree, paths)) == tree


def test_a_tree_of_many_folders_is_split_evenly() -> None:
    tree = sorted(f"source/area_{n // 500}/group_{n // 50}/file_{n}.txt" for n in range(10_000))
    sizes = [len(covered(tree, paths)) for paths in portions(tree, 4)]
    assert sum(sizes) == 10_000
    assert max(sizes) <= 1.1 * min(sizes)


def test_one_folder_of_many_files_is_left_whole() -> None:
    assert portions([f"all/{n:04}.txt" for n in range(1000)], 4) == [[]]


def test_a_large_folder_beside_small_ones_is_taken_apart() -> None:
    tree = sorted([f"big/{n // 10}/{n}.txt" for n in range(900)] + [f"small_{n}/x" for n in range(10)])
    assert all(sizes > 100 for sizes in (len(covered(tree, paths)) for paths in portions(tree, 4)))


@pytest.mark.parametrize("many", [0, 1_000_000])
def test_a_search_in_portions_finds_what_one_search_finds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    for number in range(40):
        bench.write(f"folder_{number % 8}/sub/{number}.txt", f"needle {number}\n")
    bench.write(".gitignore", "*.log\n")
    bench.commit_all()
    bench.write("folder_1/new.txt", "needle, not tracked\n")
    bench.write("folder_1/noise.log", "needle, ignored\n")
    (bench.root / "folder_2" / "sub" / "2.txt").unlink()
    time.sleep(2 * RACY / 1e9)
    bench.context.files.names()
    calls: list[int] = []
    real = ScratchRepository.run

    def counting(git: ScratchRepository, *arguments: str, **options: Any) -> Finished:
        calls.append(arguments[0] == "grep")
        return real(git, *arguments, **options)

    monkeypatch.setattr(ScratchRepository, "run", counting)
    monkeypatch.setattr(search, "_MANY", many)
    outcome = bench.call("grep", pattern="needle", mode="count")
    assert outcome.metadata["matches"] == 40
    assert "folder_1/new.txt: 1" in outcome.content
    assert sum(calls) == (5 if many == 0 else 2), "the untracked file is a search of its own"


def test_a_broken_expression_is_told_from_portions_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        bench.write(f"folder_{number % 8}/{number}.txt", "text\n")
    bench.commit_all()
    time.sleep(2 * RACY / 1e9)
    bench.context.files.names()
    monkeypatch.setattr(search, "_MANY", 0)
    assert "does not work as a regular expression" in bench.refusal("grep", pattern="foo(")

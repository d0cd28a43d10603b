"""How the benchmark of the first hour counts tests and judges a repository."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.first_hour.__main__ import Place, Repository
from benchmarks.first_hour.counts import tests_in as count_tests
from benchmarks.first_hour.verdict import verdict


def _run(stop: str, headline: str, *counts: tuple[int, int]) -> dict[str, Any]:
    checks = [{"before": {"tests": before}, "after": {"tests": after}} for before, after in counts]
    return {"stop_reason": stop, "headline": headline, "checks": checks}


_GREEN = _run("end_turn", "100 of 100 tests pass", (100, 100))
_RED = _run("checks_failing", "1 test fails that passed before", (100, 100))
_DOUBT = _run("end_turn", "not verified: no test was run")


@pytest.mark.parametrize(
    ("harmless", "breaking", "expected"),
    [
        (_GREEN, _RED, "right"),
        (_run("end_turn", "1 check passes", (60, 60), (41, 41)), _RED, "right"),
        (_GREEN, _GREEN, "green for a broken change"),
        (_RED, _RED, "red for a harmless change"),
        (_run("end_turn", "1 check passes", (100, 50)), _RED, "another count"),
        (_DOUBT, _DOUBT, "not verified"),
        ({}, {}, "not verified"),
    ],
)
def test_a_repository_is_right_only_if_counts_agree_and_the_broken_change_is_red(
    harmless: dict[str, Any], breaking: dict[str, Any], expected: str
) -> None:
    assert verdict(100, {"harmless": harmless, "breaking": breaking}) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("557 examples, 0 failures, 12 pending", 557),
        ("1242 runs, 5392 assertions, 1 failures, 0 errors, 2 skips", 1242),
        ("OK (162 tests, 310 assertions)", 162),
        ("Tests: 16, Assertions: 40, Errors: 6.", 16),
        ("Starting nbs/a.ipynb\n- Completed nbs/a.ipynb\nStarting nbs/b.ipynb\n", 2),
        ("nothing that names tests", None),
    ],
)
def test_the_tests_that_a_runner_names_are_counted(output: str, expected: int | None) -> None:
    assert count_tests(output) == expected


def test_the_breaking_edit_changes_the_first_match_only(tmp_path: Path) -> None:
    row = Repository("a/b", "", "Python", "true", "", "true", "m.py", 'x == "\\*"', 'x == "?"')
    place = Place(row, tmp_path)
    place.checkout.mkdir()
    (place.checkout / "m.py").write_text('x == "*"\nx == "*"\n')
    assert place.shell(row.breaking, tmp_path / "log", 10) == 0
    assert (place.checkout / "m.py").read_text() == 'x == "?"\nx == "*"\n'

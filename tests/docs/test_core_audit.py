"""docs/core-audit.md has every row once, and each test and module that it names is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.core_mutations import LINES, PAGE, ROWS

ROOT = Path(__file__).parents[2]
OPEN: set[str] = set()


@cache
def defined(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_every_row_is_there_once_and_in_order() -> None:
    assert [row[0] for row in ROWS] == [f"S-{number:03d}" for number in range(1, 173)]


def test_each_row_has_four_cells_and_a_test_or_says_why_not() -> None:
    assert {len(row) for row in ROWS} == {4}
    without = {row[0] for row in ROWS if "tests/" not in row[3]}
    assert {row[0] for row in ROWS if row[3] == "open"} == OPEN
    assert {row[3] for row in ROWS if row[0] in without} <= {"open", "note"}
    assert len(without) <= len(OPEN) + 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_tests_that_a_row_names_are_there(row: tuple[str, ...]) -> None:
    for path, names in re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", row[3]):
        assert (ROOT / path).is_file(), path
        missing = set(filter(None, names.split("::"))) - defined(path)
        assert not missing, (path, missing)


def test_each_row_has_a_line_to_break_or_is_named_as_having_none() -> None:
    [without] = re.findall(r"Without such a line are ([^:]+):", PAGE)
    assert sorted([*LINES, *re.findall(r"S-\d{3}", without)]) == [row[0] for row in ROWS]


def test_each_line_to_break_stands_in_its_file_once() -> None:
    wrong = {
        row: (ROOT / file).read_text("utf-8").count(old)
        for row, (file, old, new) in LINES.items()
        if old == new or (ROOT / file).read_text("utf-8").count(old) != 1
    }
    assert wrong == {}, "mend tests/docs/core_mutations.py"


def test_the_modules_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`((?:bot|tests|docs)/[\w/]+\.(?:py|md))`", PAGE))
    assert len(named) > 50
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []

"""What a tool host says of reports is believed by its shape alone, and only where it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from bot.contracts.tested import TestCounts
from bot.evidence.tests import Times
from bot.run.reading import Unbelievable, measured_of, reading_of, stamps_of

GOOD: dict[str, Any] = {
    "source": "JUnit report",
    "whole": True,
    "named": True,
    "names": {"passed": ["a", "a"], "failed": ["b"], "skipped": []},
    "counts": {"passed": 2, "failed": 1, "skipped": 0},
    "note": "",
}
MEASURED: dict[str, Any] = {
    "sources": ["coverage.xml"],
    "files": {"a.py": {"covered": [1], "missed": [3]}},
    "note": "",
    "database": False,
}
WANTED = {"a.py": frozenset({1, 2, 3})}


def test_a_good_answer_is_a_reading() -> None:
    found = reading_of(GOOD)
    assert found is not None
    assert found.tests == {"a": Times(2, 0, 0), "b": Times(0, 1, 0)}
    assert found.counts == TestCounts(2, 1, 0)
    assert reading_of(None) is None
    assert measured_of(MEASURED, WANTED).files == {"a.py": {1: True, 3: False}}


def test_a_name_is_one_line_without_terminal_sequences() -> None:
    found = reading_of({**GOOD, "names": {"passed": ["a\x1b[31m\nb\u202e"], "failed": [], "skipped": []}})
    assert found is not None
    assert ["a b" in name and "\x1b" not in name and "\n" not in name for name in found.tests] == [True]


def test_a_reason_is_one_line_and_of_a_test_that_failed() -> None:
    found = reading_of({**GOOD, "reasons": {"b": "no\n::error::x\x1b[2J", "a": "it passed"}})
    assert found is not None
    assert list(found.reasons) == ["b"]
    assert found.reasons["b"] == "no ::error::x"


@pytest.mark.parametrize(
    "change",
    [
        {"names": []},
        {"names": {"passed": "abc"}},
        {"names": {"passed": [1]}},
        {"names": {"passed": ["x" * 401]}},
        {"names": {"eaten": []}},
        {"names": {"passed": ["a"] * 100_001}},
        {"counts": {"passed": -1, "failed": 0, "skipped": 0}},
        {"counts": {"passed": True, "failed": 0, "skipped": 0}},
        {"counts": {"passed": 1.5, "failed": 0, "skipped": 0}},
        {"counts": {"passed": 1 << 40, "failed": 0, "skipped": 0}},
        {"counts": {"passed": 1}},
        {"counts": []},
        {"whole": 1},
        {"named": None},
        {"source": None},
        {"note": "x" * 401},
        {"reasons": ["b"]},
        {"reasons": {"b": 1}},
        {"reasons": {"b": "x" * 401}},
        {"reasons": {f"b{number}": "" for number in range(2_001)}},
    ],
    ids=lambda change: str(change)[:60],
)
def test_an_answer_of_another_shape_is_not_believed(change: dict[str, Any]) -> None:
    with pytest.raises(Unbelievable):
        reading_of({**GOOD, **change})


@pytest.mark.parametrize("told", [[], "x", 3, True])
def test_an_answer_that_is_no_object_is_not_believed(told: object) -> None:
    for read in (reading_of, stamps_of, lambda value: measured_of(value, WANTED)):
        with pytest.raises(Unbelievable):
            read(told)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"b.py": {"covered": [], "missed": []}}},
        {"files": {"a.py": {"covered": [4], "missed": []}}},
        {"files": {"a.py": {"covered": [1], "missed": [1]}}},
        {"files": {"a.py": {"covered": [True], "missed": []}}},
        {"files": {"a.py": {"covered": [1.0], "missed": []}}},
        {"files": {"a.py": {"covered": [[1]], "missed": []}}},
        {"files": {"a.py": []}},
        {"sources": "x"},
        {"sources": ["x"] * 21},
        {"sources": [1]},
        {"database": 0},
    ],
    ids=str,
)
def test_coverage_that_nobody_asked_for_is_not_believed(change: dict[str, Any]) -> None:
    with pytest.raises(Unbelievable):
        measured_of({**MEASURED, **change}, WANTED)

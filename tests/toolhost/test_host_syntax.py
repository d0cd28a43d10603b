"""Which texts have errors that they did not have before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolhost.conftest import Bench


def errors(bench: Bench, *files: dict[str, Any]) -> Any:
    return bench.call("new_errors", files=list(files)).metadata["errors"]


@pytest.mark.parametrize(
    ("path", "after", "said"),
    [
        ("a.py", "def f(:\n", "no valid Python: line 1: invalid syntax"),
        ("a.pyi", "x: = 1\n", "no valid Python: line 1: invalid syntax"),
        ("a.json", '{"a": }', "no valid JSON: Expecting value: line 1 column 7 (char 6)"),
        ("A.TOML", "a = \n", "no valid TOML: "),
        ("deep.json", "[" * 100_000, "no valid JSON: it is nested too deeply"),
    ],
)
def test_a_new_file_that_does_not_parse_is_named_with_the_place(
    bench: Bench, path: str, after: str, said: str
) -> None:
    assert errors(bench, {"path": path, "after": after})[path].startswith(said)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1\n", "x = 2\n"),
        ("a.txt", "x", "def f(:\n"),
        ("tsconfig.json", "{ // comments\n}", '{ // comments\n "a": 1 }'),  # it never was what a parser takes
        ("big.py", "x = 1\n", "(" * 1_000_001),
        ("a.py", "x = '\\d'\n", "y = '\\d'\n"),  # a warning is no error
    ],
)
def test_what_is_no_new_error_is_not_named(bench: Bench, path: str, before: str, after: str) -> None:
    assert errors(bench, {"path": path, "before": before, "after": after}) == {}


def test_one_that_parsed_before_is_named(bench: Bench) -> None:
    assert list(errors(bench, {"path": "a.py", "before": "x = 1\n", "after": "x = = 1\n"})) == ["a.py"]

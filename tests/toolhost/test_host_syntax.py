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
        ("a.ipynb", '{"cells": [}', "no valid JSON: Expecting value: line 1 column 12 (char 11)"),
        ("map.geojson", '{"type": }', "no valid JSON: "),
        ("app.webmanifest", "{", "no valid JSON: "),
        ("package-lock.json", '{"a": 1,}', "no valid JSON: "),
        ("web/composer.lock", "<<<<<<< HEAD\n{}", "no valid JSON: "),
        ("Pipfile.lock", "{", "no valid JSON: "),
        ("flake.lock", "{", "no valid JSON: "),
        ("Cargo.lock", "[[package]\n", "no valid TOML: "),
        ("poetry.lock", "<<<<<<< HEAD\n", "no valid TOML: "),
        ("uv.lock", "version = \n", "no valid TOML: "),
        ("pdm.lock", "[", "no valid TOML: "),
        ("Pipfile", "[", "no valid TOML: "),
        (
            "a.jsonc",
            '{\n // x\n "a": }',
            "no valid JSON with comments: Expecting value: line 3 column 7 (char 14)",
        ),
        ("tsconfig.build.json", '{"a": "//" "b"}', "no valid JSON with comments: "),
        (".vscode/settings.json", '{/* open "a": 1}', "no valid JSON with comments: "),
        ("big.json", "[" + "1,\n" * 400_000, "no valid JSON: "),
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
        (
            "tsconfig.json",
            "{}",
            '{ // comments\n "a": "http://x /* no */, ]", /* and\n last */ "b": [1,2,], }',
        ),
        (".devcontainer/devcontainer.json", "{}", "{ // comments\n}"),
        ("settings.json", "{ // comments\n}", '{ // comments\n "a": 1 }'),  # it never was what a parser takes
        ("yarn.lock", "", "# yarn lockfile v1\n"),
        ("Gemfile.lock", "", "GEM\n"),
        ("big.py", "x = 1\n", "(" * 1_000_001),
        ("a.py", "x = '\\d'\n", "y = '\\d'\n"),  # a warning is no error
    ],
)
def test_what_is_no_new_error_is_not_named(bench: Bench, path: str, before: str, after: str) -> None:
    assert errors(bench, {"path": path, "before": before, "after": after}) == {}


def test_one_that_parsed_before_is_named(bench: Bench) -> None:
    assert list(errors(bench, {"path": "a.py", "before": "x = 1\n", "after": "x = = 1\n"})) == ["a.py"]

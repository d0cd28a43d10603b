"""Which texts do not parse."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from bot.toolhost.syntax import first_error


@pytest.mark.parametrize(
    ("path", "after", "said"),
    [
        ("a.py", "def f(:\n", "line 1: invalid syntax"),
        ("a.pyi", "x: = 1\n", "line 1: invalid syntax"),
        ("a.json", '{"a": }', "Expecting value: line 1 column 7 (char 6)"),
        ("A.TOML", "a = \n", ""),
        ("a.ipynb", '{"cells": [}', "Expecting value: line 1 column 12 (char 11)"),
        ("map.geojson", '{"type": }', ""),
        ("app.webmanifest", "{", ""),
        ("package-lock.json", '{"a": 1,}', ""),
        ("web/composer.lock", "<<<<<<< HEAD\n{}", ""),
        ("Pipfile.lock", "{", ""),
        ("flake.lock", "{", ""),
        ("Cargo.lock", "[[package]\n", ""),
        ("poetry.lock", "<<<<<<< HEAD\n", ""),
        ("uv.lock", "version = \n", ""),
        ("pdm.lock", "[", ""),
        ("Pipfile", "[", ""),
        (
            "a.jsonc",
            '{\n // x\n "a": }',
            "Expecting value: line 3 column 7 (char 14)",
        ),
        ("tsconfig.build.json", '{"a": "//" "b"}', ""),
        (".vscode/settings.json", '{/* open "a": 1}', ""),
        ("big.json", "[" + "1,\n" * 400_000, ""),
        ("deep.json", "[" * 100_000, "it is nested too deeply"),
    ],
)
def test_an_error_is_named_with_its_place(path: str, after: str, said: str) -> None:
    error = first_error(PurePath(path), after)
    assert error
    assert error.startswith(said)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = 2\n"),
        ("a.txt", "def f(:\n"),
        ("tsconfig.json", '{ // comments\n "a": "http://x /* no */, ]", /* and\n last */ "b": [1,2,], }'),
        (".devcontainer/devcontainer.json", "{ // comments\n}"),
        ("yarn.lock", "# yarn lockfile v1\n"),
        ("Gemfile.lock", "GEM\n"),
        ("big.py", "(" * 1_000_001),
        ("a.py", "y = '\\d'\n"),  # a warning is no error
    ],
)
def test_what_parses_or_is_not_checked_has_no_error(path: str, text: str) -> None:
    assert first_error(PurePath(path), text) == ""

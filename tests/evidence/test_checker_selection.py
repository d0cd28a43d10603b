"""Where eslint looks, and that it is called there as the repository itself calls it."""

from __future__ import annotations

import json
import time

import pytest

from bot.ecosystems.javascript_checkers import script_arguments
from bot.evidence.checker_comparison import choose_checkers

TYPESCRIPT = "--ext .js,.jsx,.mjs,.cjs,.ts,.tsx,.mts,.cts ."


def scripts(**named: str) -> str:
    return json.dumps({"scripts": named})


def looks(files: dict[str, str]) -> dict[str, str]:
    """What follows the words that are always there, by folder; with a star where the newer settings are in force."""
    projects = {}
    for checker in choose_checkers(files, files.get, ("eslint",)):
        flat = dict(checker.environment)["ESLINT_USE_FLAT_CONFIG"] == "true"
        projects[checker.folder] = " ".join(checker.full_arguments[3:]) + ("*" if flat else "")
    return projects


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("eslint .", ["."]),
        ("eslint", ["."]),
        ("eslint packages/**/*.ts --fix", ["packages/**/*.ts"]),
        ("TIMING=1 npx eslint 'src/**/*.{ts,tsx}' --cache --cache-location .c --max-warnings=0",
         ["src/**/*.{ts,tsx}"]),
        ("cross-env A=b ./node_modules/.bin/eslint -f unix --ext .js,.ts -c conf.js src",
         ["--ext", ".js,.ts", "-c", "conf.js", "src"]),
        ("prettier --check . && eslint --quiet --ext=.ts src test | tee -o out",
         ["--quiet", "--ext=.ts", "src", "test"]),
        # What is not known for certain is not guessed.
        ("eslint $FILES", None),
        ("eslint `git ls-files`", None),
        ("eslint src && eslint test", None),
        ("eslint . --init", None),
        ("eslint ../other", None),
        ("eslint /etc", None),
        ("eslint 'unfinished", None),
        ("cd web && eslint .", None),
        ("eslint \x1b[31m", None),
        ("eslint-nibble .", None),
        ("npm run lint:js", None),
        ("eslint " + "x " * 2_000, None),
    ],
)  # fmt: skip
def test_the_repositorys_script_says_where_it_looks(script: str, arguments: list[str] | None) -> None:
    projects = script_arguments({"scripts": {"lint": script}})
    assert projects == (None if arguments is None else tuple(arguments))


def test_the_script_that_is_named_so_comes_first_and_one_that_cannot_be_read_last() -> None:
    assert script_arguments({"scripts": {"fix": "eslint --fix a", "lint": "eslint b"}}) == ("b",)
    assert script_arguments({"scripts": {"lint": "turbo lint", "test": "eslint c && jest"}}) == ("c",)
    for package in ({}, {"scripts": []}, {"scripts": {"lint": 7}}, {"scripts": {"lint": ["eslint"]}}):
        assert script_arguments(package) is None


@pytest.mark.parametrize(
    ("files", "projects"),
    [
        ({"a.js": "", "package.json": scripts(lint="eslint src")}, {}),
        ({"eslint.config.mjs": "", "package.json": scripts(lint="eslint src")}, {"": "src*"}),
        ({".eslintrc.yml": ""}, {"": "."}),
        ({".eslintrc.json": '{"parser": "@typescript-eslint/parser"}'}, {"": TYPESCRIPT}),
        ({".eslintrc": '{"parser": "@typescript-eslint/parser"}', "package.json": scripts(x="eslint src/*.ts")},
         {"": "src/*.ts"}),
        ({"package.json": '{"eslintConfig": {"plugins": ["@typescript-eslint"]}}'}, {"": TYPESCRIPT}),
        ({"package.json": "{}", "web/package.json": '{"eslintConfig": {}}'}, {"web": "."}),
        # The older settings are found in the folders below; the newer ones of a folder are its own.
        ({".eslintrc.js": "", "web/.eslintrc.js": "", "web/package.json": '{"eslintConfig": {}}'}, {"": "."}),
        ({"api/.eslintrc.js": "", "web/.eslintrc.js": ""}, {"api": ".", "web": "."}),
        ({"eslint.config.js": "", "web/eslint.config.ts": "", "web/old/.eslintrc.js": ""},
         {"": ". --ignore-pattern=web/***", "web": ".*"}),
        ({".eslintrc.js": "", "web/eslint.config.js": "", "web/package.json": "no JSON"},
         {"": ". --ignore-pattern=web/**", "web": ".*"}),
        ({"node_modules/x/.eslintrc.js": "", "a/node_modules/eslint.config.js": ""}, {}),
    ],
)  # fmt: skip
def test_it_looks_where_there_are_settings_of_it(files: dict[str, str], projects: dict[str, str]) -> None:
    assert looks(files) == projects


def test_thousands_of_packages_are_not_all_read() -> None:
    files = [f"p{number}/{name}" for number in range(3_000) for name in ("package.json", "x.js")]
    read: list[str] = []
    assert choose_checkers([*files, "p7/eslint.config.js"], lambda path: read.append(path), ("eslint",))
    assert len(read) < 100
    began = time.process_time()
    flat = [f"p{number}/eslint.config.js" for number in range(3_000)]
    choose_checkers(flat, lambda path: read.append(path) or "[" * 100_000, ("eslint",))
    assert len(read) < 200
    assert time.process_time() - began < 20  # and not an hour

"""Where eslint looks."""

from __future__ import annotations

import time

import pytest

from bot.evidence.checker_comparison import choose_checkers

TYPESCRIPT = "--ext .js,.jsx,.mjs,.cjs,.ts,.tsx,.mts,.cts ."


def looks(files: dict[str, str]) -> dict[str, str]:
    """What follows the words that are always there, by folder; with a star where the newer settings are in force."""
    projects = {}
    for checker in choose_checkers(files, files.get, ("eslint",)):
        flat = dict(checker.environment)["ESLINT_USE_FLAT_CONFIG"] == "true"
        projects[checker.folder] = " ".join(checker.full_arguments[3:]) + ("*" if flat else "")
    return projects


@pytest.mark.parametrize(
    ("files", "projects"),
    [
        ({"a.js": "", "package.json": "{}"}, {}),
        ({"eslint.config.mjs": "", "package.json": "{}"}, {"": ".*"}),
        ({".eslintrc.yml": ""}, {"": "."}),
        ({".eslintrc.json": '{"parser": "@typescript-eslint/parser"}'}, {"": TYPESCRIPT}),
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

"""Whether a project uses a checker: by its settings, or by its name among the project's tools."""

import pytest

from bot.ecosystems.checker import has_settings, uses_checker


@pytest.mark.parametrize(
    ("checker", "files", "set_up", "used"),
    [
        ("ty", {}, False, False),
        ("ty", {"pyproject.toml": "[project]\nname = 'twenty'\n[tool.typos]\n"}, False, False),
        ("ty", {"Makefile": "test:\n\tpytest -p no:pty\n"}, False, False),
        ("ty", {"Makefile": "lint:\n\tuv run ty check\n"}, False, True),
        ("ty", {"lib/pyproject.toml": "[dependency-groups]\ndev = ['ty']\n"}, False, True),
        ("ty", {"other/ty.toml": ""}, False, False),
        ("ty", {"ty.toml": ""}, True, True),
        ("ty", {"pyproject.toml": "[tool.ty.rules]\n"}, True, True),
        ("ruff", {"lib/.ruff.toml": ""}, True, True),
        ("ruff", {".pre-commit-config.yaml": "- repo: x/ruff-pre-commit\n  hooks:\n  - id: ruff\n"}, False, True),
        ("mypy", {"setup.cfg": "[mypy-requests]\n"}, True, True),
        ("pyright", {"pyproject.toml": "[tool.basedpyright]\n"}, False, False),
        ("shellcheck", {"tox.ini": "allowlist_externals = shellcheck\n"}, False, True),
    ],
)  # fmt: skip
def test_a_checker_is_used_if_it_has_settings_or_is_named_from_the_folder_up(
    checker: str, files: dict[str, str], set_up: bool, used: bool
):
    folders = ("lib", "")
    assert any(has_settings(checker, folder, files.get) for folder in folders) is set_up
    assert uses_checker(checker, folders, files.get) is used

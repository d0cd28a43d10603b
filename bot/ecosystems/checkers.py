"""Names of checkers and language servers as a policy, an outcome and a journal write them, and whether a project uses
a checker. A checker that the project does not use still runs, but the model is not shown its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from posixpath import join

CHECKER_NAMES = (
    "ruff",
    "ty",
    "basedpyright",
    "pyright",
    "mypy",
    "python-syntax",
    "tsc",
    "biome",
    "oxlint",
    "eslint",
    "cargo",
    "gopls",
    "go-vet",
    "shellcheck",
    "bash",
)
"""Checkers of a whole project, in the order in which they run. Their commands are in `bot/evidence/checkers.py`."""

LANGUAGE_SERVERS = ("ty", "ruff", "typescript", "gopls", "clangd", "biome", "oxlint", "rust-analyzer")
_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx")
_SCRIPT = (".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx")
CHECKED_SUFFIXES = frozenset((".py", ".pyi", ".go", ".rs", *_SCRIPT, *_C))
"""The files that a server takes. The servers are described in `bot/ecosystems`."""
REMOVED_SERVERS = ("cargo", "shellcheck", "bash", "python", "json", "toml", "yaml")
"""What a policy could name here once."""

MAX_WAIT = 30
"""Seconds: the longest time that a policy may let an edit wait for diagnostics. The default is 2."""

ReadText = Callable[[str], str | None]
"""Returns the text of a file by its path from the repository's root, or `None` if there is no such file."""

SETTINGS = {
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "ty": ("ty.toml", "pyproject.toml"),
    "basedpyright": ("pyproject.toml",),
    "pyright": ("pyrightconfig.json", "pyproject.toml"),
    "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
}
_SECTIONS = {"pyproject.toml": "tool.{}", "setup.cfg": "{}"}
"""The checker's section, in files that configure other programs too."""

_TOOL_LISTS = (
    "pyproject.toml",
    ".pre-commit-config.yaml",
    "setup.cfg",
    "tox.ini",
    "noxfile.py",
    "Makefile",
    "justfile",
    "requirements-dev.txt",
    "dev-requirements.txt",
    "package.json",
)


def uses_checker(checker: str, folders: Iterable[str], read: ReadText) -> bool:
    """Whether one of `folders` (those from a file up to the root) has settings for `checker` or names it as a tool."""
    word = re.compile(rf"(?<![\w./-]){re.escape(checker)}(?![\w-])")
    return any(
        has_settings(checker, folder, read)
        or any(word.search(read(join(folder, file)) or "") for file in _TOOL_LISTS)
        for folder in folders
    )


def has_settings(checker: str, folder: str, read: ReadText) -> bool:
    """Whether `folder` itself has settings for `checker`."""
    texts = ((file, read(join(folder, file))) for file in SETTINGS.get(checker, ()))
    return any(text is not None and _configures(checker, file, text) for file, text in texts)


def _configures(checker: str, file: str, text: str) -> bool:
    section = _SECTIONS.get(file)
    if section is None:
        return True
    return re.search(rf"(?m)^\s*\[+\s*{re.escape(section.format(checker))}[\].-]", text) is not None

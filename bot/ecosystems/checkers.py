"""Names of checkers and language servers as a policy, an outcome and a journal write them, and whether a project uses
a checker. A checker that the project does not use still runs, but the model is not shown its results."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import join

from bot.ecosystems.checker import Checker, Read, above, is_in

MAX_WAIT = 30
"""Seconds: the longest time that a policy may let an edit wait for diagnostics. The default is 2."""

SETTINGS = {
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "ty": ("ty.toml", "pyproject.toml"),
    "basedpyright": ("pyproject.toml",),
    "pyright": ("pyrightconfig.json", "pyproject.toml"),
    "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
}
_SHARED_SETTINGS = frozenset({"pyproject.toml", "setup.cfg", "package.json"})
"""Files with settings of other tools as well."""

_ANYWHERE = "**/"
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


def uses_checker(checker: str, folders: Iterable[str], read: Read) -> bool:
    """Whether one of `folders` (those from a file up to the root) has settings for `checker` or names it as a tool."""
    word = re.compile(rf"(?<![\w./-]){re.escape(checker)}(?![\w-])")
    return any(
        has_settings(checker, folder, read)
        or any(word.search(read(join(folder, file)) or "") for file in _TOOL_LISTS)
        for folder in folders
    )


def has_settings(checker: str, folder: str, read: Read) -> bool:
    """Whether `folder` itself has settings for `checker`."""
    texts = ((file, read(join(folder, file))) for file in SETTINGS.get(checker, ()))
    return any(text is not None and _configures(checker, file, text) for file, text in texts)


def _configures(checker: str, file: str, text: str) -> bool:
    section = _SECTIONS.get(file)
    if section is None:
        return True
    return re.search(rf"(?m)^\s*\[+\s*{re.escape(section.format(checker))}[\].-]", text) is not None


def sets_up(checker: Checker, path: str, texts: Iterable[str]) -> bool:
    """Whether a change of `path` configures `checker`. `texts` are the file's contents before and after. A shared file
    counts if it mentions the checker, `pyproject.toml` if the checker's settings differ."""
    if not any(_is_setting(path, setting, checker.folder) for setting in checker.settings):
        return False
    names = checker.known_as or (checker.name,)
    name = PurePosixPath(path).name
    if name == "pyproject.toml":
        before, after = (_pyproject_settings(text, checker.name) for text in texts)
        return before != after
    return name not in _SHARED_SETTINGS or any(word in text for text in texts for word in names)


def _pyproject_settings(text: str, name: str) -> object:
    """Return the settings of a checker in pyproject.toml; the whole text if it cannot be parsed."""
    try:
        settings = tomllib.loads(text)
        return settings.get("tool", {}).get(name), settings.get("project", {}).get("requires-python")
    except (ValueError, RecursionError, AttributeError):
        return text


def _is_setting(path: str, setting: str, folder: str) -> bool:
    """Whether `path` is the settings file `setting` in the project folder or above it, or, with `**/`, also below."""
    parent = above(path)[0]
    if parent.endswith(".cargo"):
        parent = above(parent)[0]
    if not is_in(folder, parent) and not (setting.startswith(_ANYWHERE) and is_in(path, folder)):
        return False
    if setting.startswith(_ANYWHERE):
        return fnmatchcase(f"/{path}", f"*/{setting.removeprefix(_ANYWHERE)}")
    return fnmatchcase(path, f"*/{setting}") or path == setting if folder else path == setting

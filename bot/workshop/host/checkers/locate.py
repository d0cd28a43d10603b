"""Where a checker's program is: ours, the project's own, or one on PATH. Nothing is ever installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

PLACES = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders of the repository in which a project has programs of its own."""

_ENVIRONMENTS = (".venv", "venv", "env")


def find(
    name: str, where: Sequence[str], root: Path, ours: Mapping[str, str], environment: Mapping[str, str]
) -> str:
    """The program called `name`, looked for in the order of `where` (`ours`, `project`, `path`); empty for none."""
    for place in where:
        if place == "ours" and (own := ours.get(name)) and _runs(own):
            return own
        if place == "project":
            for folder in PLACES:
                if _runs(program := str(root / folder / name)):
                    return program
        if place == "path" and (found := shutil.which(name, path=environment.get("PATH", ""))):
            return found
    return ""


def has_python_environment(root: Path, environment: Mapping[str, str]) -> bool:
    """Whether what the project imports can be there: an environment of its own, or one that is active."""
    own = any((root / name / "pyvenv.cfg").is_file() for name in _ENVIRONMENTS)
    return own or bool(environment.get("VIRTUAL_ENV"))


def _runs(program: str) -> bool:
    return os.path.isfile(program) and os.access(program, os.X_OK)

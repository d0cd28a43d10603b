"""Where a checker's program is: ours, the project's own, or one on PATH. Nothing is ever installed.

A project may be a folder of the repository; what is the project's is then looked for there and in the folders above it,
the nearest first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

PLACES = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders of the repository in which a project has programs of its own."""

_ENVIRONMENTS = (".venv", "venv", "env")


def folders(root: Path, folder: str) -> list[Path]:
    """`folder` and those that it is in, up to the repository's own."""
    here = root / folder
    return [here, *(above for above in here.parents if above.is_relative_to(root))] if folder else [root]


def find(
    name: str,
    where: Sequence[str],
    around: Sequence[Path],
    ours: Mapping[str, str],
    environment: Mapping[str, str],
) -> str:
    """The program called `name`, looked for in the order of `where` (`ours`, `project`, `path`); empty for none.
    `around` are the folders of the project."""
    for place in where:
        if place == "ours" and (own := ours.get(name)) and _runs(own):
            return own
        if place == "project":
            for program in (str(folder / bin_folder / name) for folder in around for bin_folder in PLACES):
                if _runs(program):
                    return program
        if place == "path" and (found := shutil.which(name, path=environment.get("PATH", ""))):
            return found
    return ""


def python_environment(around: Sequence[Path], environment: Mapping[str, str]) -> str:
    """Where what the project imports can be: the environment that is active, or the nearest of its own; else empty."""
    own = (folder / name for folder in around for name in _ENVIRONMENTS)
    return environment.get("VIRTUAL_ENV") or next(
        (str(env) for env in own if (env / "pyvenv.cfg").is_file()), ""
    )


def _runs(program: str) -> bool:
    return os.path.isfile(program) and os.access(program, os.X_OK)

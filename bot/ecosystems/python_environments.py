"""Python environments of a checkout, in its folders and elsewhere."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from bot.contracts.regular_files import read_regular

FOLDERS = (".venv", "venv", "env", ".conda")
_LARGEST_POINTER = 4096


def is_environment(folder: str | Path) -> bool:
    """Whether it is a virtual environment, or one of Conda's."""
    return os.path.isfile(os.path.join(folder, "pyvenv.cfg")) or os.path.isdir(
        os.path.join(folder, "conda-meta")
    )


def outside(top: Path, tracked: Collection[str], source: Mapping[str, str]) -> Iterator[str]:
    yield source.get("VIRTUAL_ENV", "")
    if source.get("CONDA_DEFAULT_ENV") != "base":
        yield source.get("CONDA_PREFIX", "")
    if "pyproject.toml" not in tracked:
        return
    yield source.get("UV_PROJECT_ENVIRONMENT", "")
    if ".pdm-python" not in tracked:
        yield os.path.dirname(os.path.dirname(_pointer(top / ".pdm-python")))
    yield from _of_poetry(top, source)


def _pointer(file: Path) -> str:
    """The path of the project's interpreter in PDM's file."""
    try:
        return os.fsdecode(read_regular(file, _LARGEST_POINTER)).strip()
    except OSError:
        return ""


def _of_poetry(top: Path, source: Mapping[str, str]) -> Iterator[str]:
    """Poetry's environments for the checkout, the newest first: it names them by the path, one for each Python."""
    cache = source.get("XDG_CACHE_HOME") or os.path.join(source.get("HOME", "/nonexistent"), ".cache")
    home = source.get("POETRY_CACHE_DIR") or os.path.join(cache, "pypoetry")
    folder = source.get("POETRY_VIRTUALENVS_PATH") or os.path.join(home, "virtualenvs")
    digest = hashlib.sha256(os.fsencode(top)).digest()
    mark = re.escape(base64.urlsafe_b64encode(digest).decode()[:8])
    try:
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if re.search(f"-{mark}-py[0-9.]+$", entry.name)]
            yield from (one.path for one in sorted(named, key=lambda one: -one.stat().st_mtime))
    except OSError:
        return

"""Python environments of a checkout, in its folders and elsewhere."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bot.contracts.regular_files import read_regular

FOLDERS = (".venv", "venv", "env", ".conda")


def is_environment(folder: str | Path) -> bool:
    """Whether it is a virtual environment, or one of Conda's."""
    return os.path.isfile(f"{folder}/pyvenv.cfg") or os.path.isdir(f"{folder}/conda-meta")


def outside(top: Path, tracked: Collection[str], source: Mapping[str, str]) -> Iterator[str]:
    yield source.get("VIRTUAL_ENV", "")
    if source.get("CONDA_DEFAULT_ENV") != "base":
        yield source.get("CONDA_PREFIX", "")
    if "pyproject.toml" not in tracked:
        return
    yield source.get("UV_PROJECT_ENVIRONMENT", "")
    if ".pdm-python" not in tracked:
        with suppress(OSError):  # the path of the project's interpreter
            pointer = os.fsdecode(read_regular(top / ".pdm-python", 4096)).strip()
            yield os.path.dirname(os.path.dirname(pointer))
    yield from _of_poetry(top, source)


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


_MAPPING = re.compile(r"^MAPPING\b[^=\n]*= *(\{[^{}]*\})", re.MULTILINE)
_LARGEST = 1 << 20
PACKAGE = re.compile(
    r"(?:(?P<folder>src)/)?(?P<file>(?!(?:tests?|docs|examples|benchmarks)/)[^\W\d]\w*(?:/__init__)?\.py)"
)
"""The file that makes a package or module, at the root or in `src`."""


def hooks(site: Path) -> Iterator[tuple[str, str]]:
    """The files of `site` that add to what Python imports, with their text."""
    try:
        names = os.listdir(site)
    except OSError:
        return
    for name in names:
        of_a_finder = name.startswith("__editable__") and name.endswith(".py")
        if not (of_a_finder or name.endswith((".pth", ".egg-link"))):
            continue
        try:
            # A file that commands made may be a link or a pipe.
            yield name, read_regular(site / name, _LARGEST).decode("utf-8", "surrogateescape")
        except OSError:
            continue


def leads(site: Path, name: str, text: str, tops: Sequence[Path]) -> Iterator[str]:
    """The folders that the file adds, relative to the top that they are in; `..` for one that cannot be on the path."""
    if name.endswith(".py"):
        yield from _mapped(text, tops)
        return
    for line in text.splitlines()[: 1 if name.endswith(".egg-link") else None]:
        if line.strip() and not line.startswith(("#", "import ", "import\t")):
            path = os.path.normpath(os.path.join(site, line.strip()))
            if path != str(site) and not path.startswith(f"{site}/"):
                yield from _relative(path, tops)


def _mapped(text: str, tops: Sequence[Path]) -> Iterator[str]:
    """The folders of the packages that a finder of setuptools maps."""
    for literal in _MAPPING.findall(text):
        try:
            # Not by Python's parser, which is not for text that a repository's commands wrote.
            mapping = json.loads(literal.replace("'", '"'))
        except (ValueError, RecursionError):
            yield ".."
            continue
        for name, path in mapping.items():
            for relative in _relative(str(path), tops):
                end = "/" + name.replace(".", "/")
                whole = f"/{relative.removesuffix('.py')}"
                yield (whole[: -len(end)].lstrip("/") or ".") if whole.endswith(end) else ".."


def _relative(path: str, tops: Collection[Path]) -> Iterator[str]:
    for top in tops:
        if path == str(top) or path.startswith(f"{top}/"):
            yield os.path.relpath(path, top)
            return

"""Notes about what a checkout lacks: submodules, LFS contents, history that version tools need."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from bot.contracts.plain_text import quoted_names

_VERSION_TOOLS = {
    "setuptools-scm": re.compile(rb"setuptools[_-]scm|use_scm_version"),
    "hatch-vcs": re.compile(rb"hatch-vcs|\[tool\.hatch\.version\][^\[]*source\s*=\s*[\"']vcs"),
    "versioneer": re.compile(rb"\bversioneer\b"),
    "poetry-dynamic-versioning": re.compile(rb"poetry-dynamic-versioning"),
}
_VERSION_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_LARGEST_READ = 1 << 20
_GITLINK = b"160000"
_POINTER = b"version https://git-lfs.github.com/spec/"
_LARGEST_POINTER = 1024
_MOST_NAMES = 5


def submodules_note(listing: bytes) -> str:
    """`listing` is the output of `ls-files -s -z`."""
    entries = (entry.partition(b"\t") for entry in listing.split(b"\0") if entry)
    paths = [os.fsdecode(path) for head, _, path in entries if head.startswith(_GITLINK)]
    return (
        f"Submodules were not fetched; their folders are empty: {quoted_names(paths, _MOST_NAMES)}."
        if paths
        else ""
    )


def lfs_note(tree: Path) -> str:
    paths = list(_pointers(tree))
    if not paths:
        return ""
    return f"Git LFS contents were not fetched; these files are pointers: {quoted_names(paths, _MOST_NAMES)}."


def version_note(tree: Path, history: int | Literal["full"]) -> str:
    if history != 1:
        return ""
    text = b"\n".join(_read(os.path.join(tree, name), _LARGEST_READ) for name in _VERSION_FILES)
    tools = [name for name, sign in _VERSION_TOOLS.items() if sign.search(text)]
    if not tools:
        return ""
    return (
        f"{' and '.join(tools)} takes the version from git history, and only the base commit was fetched: "
        "set `history` in the policy file to a number of commits or to `full` if a wrong version matters."
    )


def _pointers(tree: Path) -> Iterator[str]:
    """Yield the paths of LFS pointer files in a pristine tree, if its attributes mention LFS."""
    uses_lfs = False
    candidates: list[str] = []
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        if ".gitattributes" in files:
            uses_lfs = uses_lfs or b"filter=lfs" in _read(
                os.path.join(folder, ".gitattributes"), _LARGEST_READ
            )
        candidates += [os.path.join(folder, name) for name in sorted(files)]
    if uses_lfs:
        for path in candidates:
            if os.lstat(path).st_size <= _LARGEST_POINTER and _read(path, _LARGEST_POINTER).startswith(
                _POINTER
            ):
                yield os.path.relpath(path, tree)


def _read(path: str, limit: int) -> bytes:
    """Return up to `limit` bytes of a regular file that is not a link; nothing for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(limit)

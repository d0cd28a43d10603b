"""The gate's view of git objects: the base commit's listing, blob sizes and contents; and its scratch git directory."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import Git
from bot.checkout.layout import READABLE_ATTRIBUTES, make_git_dir, object_format_of

FILE = "100644"
PROGRAM = "100755"
LINK = "120000"
GITLINK = "160000"


class Entry(NamedTuple):
    """A path's git mode, and the object id of its content. A tuple: there may be hundreds of thousands."""

    mode: str
    sha: str


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs from the base. `data` is the new content (of a link: its target)."""

    path: str
    old: Entry | None
    new: Entry | None
    data: bytes | None


class TreeDiff(NamedTuple):
    """The difference between a tree and the base: the `changes` that a commit can hold; in `unfit` the reasons by
    path for those left out, one entry for many paths if a limit was exceeded; and the paths of the base that
    therefore stay unchanged."""

    changes: Sequence[Change]
    unfit: Mapping[str, str]
    unchanged: Collection[str]


def parents(path: str) -> Iterator[str]:
    """The folders that `path` is in, the innermost first, the root apart."""
    while folder := path.rpartition("/")[0]:
        yield folder
        path = folder


def listing(git: Git, commit: str) -> dict[str, Entry]:
    """Every path of `commit`. Names that are not UTF-8 come in Python's surrogate form."""
    entries: dict[str, Entry] = {}
    output = os.fsdecode(git.run("ls-tree", "-r", "-z", "--full-tree", commit))
    for line in output.split("\0"):
        if line:
            head, _, path = line.partition("\t")
            mode, _, rest = head.partition(" ")
            entries[path] = Entry(mode, rest.partition(" ")[2])
    return entries


def sizes(git: Git, shas: Sequence[str]) -> list[int]:
    """The sizes of objects in bytes, without reading them."""
    if not shas:
        return []
    output = git.run(
        "cat-file", "--batch-check=%(objectsize)", input="".join(f"{sha}\n" for sha in shas).encode()
    )
    return [int(line) for line in output.split()]


def contents(git: Git, shas: Sequence[str]) -> list[bytes]:
    """The contents of blobs. Ask `sizes` first: everything is in memory at once."""
    if not shas:
        return []
    output = git.run("cat-file", "--batch", input="".join(f"{sha}\n" for sha in shas).encode())
    blobs: list[bytes] = []
    position = 0
    for _ in shas:
        end = output.index(b"\n", position)
        size = int(output[position:end].split()[2])
        blobs.append(output[end + 1 : end + 1 + size])
        position = end + size + 2
    return blobs


def blob_id(data: bytes, object_format: str) -> str:
    """The object id git would give to `data`."""
    digest = hashlib.sha1 if object_format == "sha1" else hashlib.sha256
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


# What tools leave behind and nobody commits. Weaker than any rule of the base's own .gitignore files.
_LEFTOVERS = "\n".join(
    (
        "__pycache__/",
        "*.pyc",
        ".pytest_cache/",
        ".mypy_cache/",
        ".ruff_cache/",
        ".hypothesis/",
        ".tox/",
        ".venv/",
        "node_modules/",
        ".DS_Store",
        "*.swp",
        "",
    )
)


@dataclass(frozen=True, slots=True)
class Scratch:
    """`render` sees the objects of `git` and shows text as text: its attributes do not say `-diff`."""

    git: Git
    folder: Path
    index: Path
    render: Git
    object_format: str

    @property
    def objects(self) -> dict[str, str]:
        """The environment in which `render` reads the objects of `git`."""
        return {"GIT_OBJECT_DIRECTORY": str(self.git.git_dir / "objects")}


@contextmanager
def scratch(git: Git, base_sha: str) -> Iterator[Scratch]:
    """Make the folder beside the trusted git directory, never in a work tree; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gate-", dir=git.git_dir.parent))
    try:
        object_format = object_format_of(base_sha)
        render = folder / "render.git"
        make_git_dir(render, bare=True, object_format=object_format, attributes=READABLE_ATTRIBUTES)
        (render / "info" / "exclude").write_text(_LEFTOVERS)
        yield Scratch(git, folder, folder / "index", Git(render), object_format)
    finally:
        shutil.rmtree(folder)

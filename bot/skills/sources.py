"""Sources of skills: a folder of this machine, or a folder of a commit. Links are not followed, everything is
bounded.

A link, a submodule or a device is listed as what it is; the validation refuses it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol

from bot.checkout.git import Git
from bot.checkout.objects import blobs_at
from bot.ecosystems.registry import ecosystems

MAX_ENTRIES = 20_000
MAX_DEPTH = 10
_IGNORED_FOLDERS = frozenset({".git", *(name.rstrip("/") for one in ecosystems() for name in one.leftovers)})


class Kind(Enum):
    FILE = "file"
    PROGRAM = "program"
    LINK = "a link"
    SUBMODULE = "a submodule"
    SPECIAL = "neither a file nor a folder"


class Entry(NamedTuple):
    """`path` is relative to the source, `size` in bytes."""

    path: str
    kind: Kind
    size: int = 0


class Listing(NamedTuple):
    """`entries` sorted by path. `cut` is a sentence about an omission, if any."""

    entries: Sequence[Entry]
    cut: str = ""


class SkillSource(Protocol):
    """`name` is for people: `.agents/skills`."""

    @property
    def name(self) -> str: ...

    def listing(self) -> Listing: ...

    def read(self, paths: Iterable[str], limit: int) -> Mapping[str, bytes]:
        """Return the files' contents, of each at most `limit` + 1 bytes. Paths that are no files are left out."""
        ...


class Folder:
    """A folder of this machine. `only` restricts it to one subfolder. With `links`, a link directly in it
    counts as the folder that it leads to, as people keep their skills elsewhere."""

    def __init__(self, root: Path, name: str, only: str = "", *, links: bool = False) -> None:
        self._root = root
        self._only = only
        self._links = links
        self.name = name

    def listing(self) -> Listing:
        entries: list[Entry] = []
        prefix = f"{self._only}/" if self._only else ""
        for entry in _walk(self._root / self._only, prefix, MAX_DEPTH, links=self._links):
            if len(entries) == MAX_ENTRIES:
                return Listing(_sorted(entries), f"only {MAX_ENTRIES} entries of {self.name} were looked at")
            entries.append(entry)
        return Listing(_sorted(entries))

    def read(self, paths: Iterable[str], limit: int) -> Mapping[str, bytes]:
        return {path: data for path in paths if (data := _read(self._root / path, limit)) is not None}


class CommitFolder:
    """The folder `name` of a commit, independent of the work tree."""

    def __init__(self, git: Git, commit: str, name: str, listing: Listing) -> None:
        """Use `commit_folders`."""
        self._git = git
        self._commit = commit
        self._listing = listing
        self.name = name

    def listing(self) -> Listing:
        return self._listing

    def read(self, paths: Iterable[str], limit: int) -> Mapping[str, bytes]:
        """The caller checks the sizes first: git returns whole files."""
        blobs = blobs_at(self._git, self._commit, [f"{self.name}/{path}" for path in paths])
        return {path[len(self.name) + 1 :]: data for path, data in blobs.items()}


def commit_folders(git: Git, commit: str, names: Sequence[str]) -> list[CommitFolder]:
    """Return the folders `names` of a commit, none of them inside another, listed by one git. Raises
    `GitError`."""
    output = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, *names)
    entries: dict[str, list[Entry]] = {name: [] for name in names}
    cut: dict[str, str] = {}
    for line in output.split(b"\0"):
        facts, _, raw = line.partition(b"\t")
        path = raw.decode(errors="surrogateescape")
        name = next((name for name in names if path == name or path.startswith(f"{name}/")), None)
        if name is None:
            continue
        if len(entries[name]) == MAX_ENTRIES:
            cut[name] = f"only {MAX_ENTRIES} files of {name} were looked at"
        elif entry := _tree_entry(facts, path[len(name) + 1 :]):
            entries[name].append(entry)
    return [
        CommitFolder(git, commit, name, Listing(_sorted(entries[name]), cut.get(name, ""))) for name in names
    ]


def _tree_entry(facts: bytes, path: str) -> Entry | None:
    mode, kind, _, size = facts.split()
    if set(path.split("/")[:-1]) & _IGNORED_FOLDERS:
        return None
    if kind == b"commit":
        return Entry(path, Kind.SUBMODULE)
    if mode == b"120000":
        return Entry(path, Kind.LINK)
    return Entry(path, Kind.PROGRAM if mode == b"100755" else Kind.FILE, int(size))


def _walk(folder: Path, prefix: str, depth: int, *, links: bool = False) -> Iterator[Entry]:
    try:
        with os.scandir(folder) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return  # gone, or not ours to read: then nothing of it is a skill
    for entry in children:
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=links):
            if depth > 1 and entry.name not in _IGNORED_FOLDERS:
                yield from _walk(folder / entry.name, f"{path}/", depth - 1)
        else:
            yield _entry(path, entry.stat(follow_symlinks=False))


def _entry(path: str, status: os.stat_result) -> Entry:
    if stat.S_ISLNK(status.st_mode):
        return Entry(path, Kind.LINK)
    if not stat.S_ISREG(status.st_mode):
        return Entry(path, Kind.SPECIAL)
    return Entry(path, Kind.PROGRAM if status.st_mode & 0o100 else Kind.FILE, status.st_size)


def _read(path: Path, limit: int) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:
            return file.read(limit + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.path)

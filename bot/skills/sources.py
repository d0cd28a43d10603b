"""Sources of skills: a folder of this machine, or a folder of a commit, with all its files. Links are not followed,
everything is bounded.

A link, a submodule or a device is listed as what it is; the validation refuses it.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import Git
from bot.checkout.objects import blobs_at
from bot.contracts.regular_files import read_regular
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


Read = Callable[[Iterable[str], int], Mapping[str, bytes]]


class SkillSource(NamedTuple):
    """`name` is for people: `.agents/skills`. `entries` are its files by path, at most `MAX_ENTRIES`. `read` returns
    the contents of the files at these paths, each at most the limit and one byte; paths that are no files are left
    out."""

    name: str
    entries: Sequence[Entry]
    read: Read
    is_cut: bool = False


NO_SOURCE = SkillSource("", (), lambda paths, limit: {})


def folder_source(root: Path, name: str, only: str = "", *, links: bool = False) -> SkillSource:
    """Return the source of a folder of this machine. `only` restricts it to one subfolder. With `links`, a link
    directly in it counts as the folder that it leads to, as people keep their skills elsewhere."""

    def read(paths: Iterable[str], limit: int) -> Mapping[str, bytes]:
        files: dict[str, bytes] = {}
        for path in paths:
            with suppress(OSError):
                files[path] = read_regular(root / path, limit + 1)
        return files

    return _source(name, _walk(root / only, f"{only}/" if only else "", MAX_DEPTH, links=links), read)


def commit_folders(git: Git, commit: str, names: Sequence[str]) -> list[SkillSource]:
    """Return the folders `names` of a commit, none of them inside another, listed by one git, independent of the work
    tree. Raises `GitError`."""
    lines = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *names).split(b"\0")
    facts = {os.fsdecode(path): fact for fact, _, path in (line.partition(b"\t") for line in lines[:-1])}

    def source(name: str) -> SkillSource:
        def read(paths: Iterable[str], _: int) -> Mapping[str, bytes]:
            # The caller checks the sizes first: git returns whole files.
            blobs = blobs_at(git, commit, [f"{name}/{path}" for path in paths])
            return {path[len(name) + 1 :]: data for path, data in blobs.items()}

        inside = (path for path in facts if path == name or path.startswith(f"{name}/"))
        entries = (_tree_entry(facts[path], path[len(name) + 1 :]) for path in inside)
        return _source(name, (entry for entry in entries if entry), read)

    return [source(name) for name in names]


def is_ignored(folder: str) -> bool:
    """Whether a part of the path is a folder that no skill is looked for in."""
    return not _IGNORED_FOLDERS.isdisjoint(folder.split("/"))


def _source(name: str, entries: Iterator[Entry], read: Read) -> SkillSource:
    listed = sorted(islice(entries, MAX_ENTRIES), key=lambda entry: entry.path)
    return SkillSource(name, listed, read, next(entries, None) is not None)


def _tree_entry(facts: bytes, path: str) -> Entry | None:
    mode, kind, _, size = facts.split()
    if is_ignored(path.rpartition("/")[0]):
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

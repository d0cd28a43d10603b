"""List the files of the work tree, tracked or not, without ignored ones; a cache of the list is valid while no folder
and no ignore rule changed.

Git is used where it is installed, through a scratch repository of ours: the tree's own `.git` can hold any
configuration, may be broken, or may not exist. Only its index is read, since a tracked file is never ignored.
"""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bot.toolhost import globs
from bot.toolhost.programs import Cancellation, ProgramResult, run_program

_TIMEOUT = 60.0
_CAP = 256 * 1024 * 1024
_ATTRIBUTES = b"* !diff !text !eol !filter !ident !working-tree-encoding\n"
# The content of each file in an index that is only a list of names: git's empty blob.
_ENTRY = b"100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\t%b\0"


def files(
    root: Path,
    *,
    below: str = "",
    tmp: Path | None = None,
    cancelled: Cancellation | None = None,
    hidden_too: bool = False,
) -> list[str]:
    """Files and links relative to `root`, sorted, `.git` never; with `below` only those beneath that folder.

    `hidden_too` lists ignored files as well. Repositories within the repository are not entered, except where
    `below` is in one. Names that are not UTF-8 are as `os.fsdecode` gives them.
    """
    if hidden_too or in_other_repository(root, below):
        return _walked(root, below, hidden_too=hidden_too)
    return list_files(root, below=below, tmp=tmp, cancelled=cancelled).names


class FileList(NamedTuple):
    """`names` as `files` returns them; `untracked` are those that the tree's index does not list, `None` if git did not
    list them."""

    names: list[str]
    untracked: list[str] | None


def list_files(
    root: Path, *, below: str = "", tmp: Path | None = None, cancelled: Cancellation | None = None
) -> FileList:
    """The files beneath `root` that are not ignored, tracked and untracked ones apart."""
    with scratch_repository(root, tmp, cancelled) as git:
        status = git.present(below) if git else None
        if git is None or status is None:
            return FileList(_walked(root, below, hidden_too=False), None)
        # Both are in git's order, byte by byte; mostly they are the same list.
        tracked = git.tracked(below)
        if tracked == status:
            return FileList(sorted(status), [])
        still_there = [name for name in set(tracked).difference(status) if _is_present(root, name)]
        return FileList(sorted(status + still_there), sorted(set(status).difference(tracked)))


def leads_elsewhere(root: Path, folder: str) -> bool:
    """Whether a folder that git's index names is now reached through a link. `root` is without links."""
    path = os.path.join(root, folder) if folder else str(root)
    return os.path.realpath(path) != path


def _is_present(root: Path, name: str) -> bool:
    try:
        mode = os.lstat(os.path.join(root, name)).st_mode
    except OSError:
        return False
    # A folder is a submodule: git lists it by its name alone.
    return not stat.S_ISDIR(mode) and not leads_elsewhere(root, os.path.dirname(name))


def in_other_repository(root: Path, below: str) -> bool:
    """Whether a folder between `root` and `below`, itself included, is a repository of its own."""
    folder = os.fsencode(root)
    for part in os.fsencode(below).split(b"/") if below else ():
        folder = os.path.join(folder, part)
        if globs.is_repository(folder):
            return True
    return False


class ScratchRepository(NamedTuple):
    """An empty repository of ours whose work tree is `root`."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    cancelled: Cancellation

    def run(
        self,
        *arguments: str,
        index: Path | None = None,
        stdin: bytes = b"",
        cap: int = _CAP,
        timeout: float = _TIMEOUT,
    ) -> ProgramResult:
        """One git command. `index` is the index file that it sees; an empty one otherwise. `timeout` in seconds."""
        exclude = self.root / ".git" / "info" / "exclude"
        return run_program(
            [
                *("git", f"--git-dir={self.folder}", f"--work-tree={self.root}", "--literal-pathspecs"),
                *("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),
                *("-c", f"core.excludesFile={exclude}"),
                *arguments,
            ],
            cwd=self.root,
            environment=dict(self.environment, GIT_INDEX_FILE=str(index)) if index else self.environment,
            timeout=timeout,
            cap=cap,
            cancelled=self.cancelled,
            stdin=stdin,
        )

    @property
    def tree_index(self) -> Path | None:
        """The tree's own index, if it has one."""
        index = self.root / ".git" / "index"
        return index if index.is_file() else None

    def present(self, below: str = "", index: Path | None = None) -> list[str] | None:
        """Files on the disk that are not ignored and not in `index`; `None` if git failed."""
        status = self.run("ls-files", "-o", "--exclude-standard", "-z", "--", below or ".", index=index)
        if status.exit_code != 0 or status.capped:
            return None
        names = _names(status.output)
        # A repository within the repository is one name with a slash at its end.
        return [name for name in names if not name.endswith("/")] if b"/\0" in status.output else names

    def tracked(self, below: str = "") -> list[str]:
        """The files in the tree's index; empty if git cannot read it."""
        if self.tree_index is None:
            return []
        status = self.run("ls-files", "-z", "--", below or ".", index=self.tree_index)
        return _names(status.output) if status.exit_code == 0 else []

    def index_of(self, names: Iterable[str]) -> Path | None:
        """An index that lists exactly `names`, for a git command to work on; `None` when git could not make it."""
        index = self.folder / f"index-{os.urandom(4).hex()}"
        entries = b"".join(_ENTRY % os.fsencode(name) for name in names)
        result = self.run("update-index", "-z", "--index-info", index=index, stdin=entries)
        return index if result.exit_code == 0 else None


@contextmanager
def scratch_repository(
    root: Path, tmp: Path | None = None, cancelled: Cancellation | None = None
) -> Iterator[ScratchRepository | None]:
    """A `ScratchRepository` in `tmp`, or `None` if there is no git program or no room for one."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PAGER": "cat",
    }
    parent = tmp or Path(os.environ.get("TMPDIR", "/tmp"))  # noqa: S108 - mkdir below takes nothing that exists
    folder = parent / f"search-{os.urandom(8).hex()}"
    try:
        yield (
            ScratchRepository(root, folder, environment, cancelled or Cancellation())
            if (_git_is_there(environment["PATH"]) and _create_repository(folder))
            else None
        )
    finally:
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)


def _create_repository(folder: Path) -> bool:
    try:
        for part in ("", "objects", "refs", "info"):
            (folder / part).mkdir(mode=0o700)
        (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        # A repository's own attributes win over those in the tree, which could call text binary or convert it.
        (folder / "info" / "attributes").write_bytes(_ATTRIBUTES)
        (folder / "info" / "exclude").write_bytes(globs.BYTECODE)
    except OSError:
        return False  # a full disk: searching goes on without git
    return True


def _git_is_there(path: str) -> bool:
    return any(os.access(os.path.join(part, "git"), os.X_OK) for part in path.split(os.pathsep) if part)


def _walked(root: Path, below: str, *, hidden_too: bool) -> list[str]:
    status = globs.walk(os.fsencode(root), os.fsencode(below), hidden_too=hidden_too)
    return sorted(map(os.fsdecode, status))


def _names(output: bytes) -> list[str]:
    return os.fsdecode(output).split("\0")[:-1]


_RULES = (".git/index", ".git/info/exclude")

MAX_FOLDERS = 60_000
"""The number of folders, ignored ones included, above which checking each would take longer than asking git."""

RACY = 20_000_000
"""Nanoseconds in which something can change without its times moving: kernels stamp in ticks of 4 to 10 ms."""

Stamp = tuple[int, int, int, int, int]


class FolderSnapshot(NamedTuple):
    """The stamps of the folders and rule files beneath the descriptor `root`; `None` for a missing file. `racy`: one of
    them changed so recently that a further change might not move its stamp."""

    root: int
    stamps: Mapping[str, Stamp | None]
    racy: bool

    def is_unchanged(self) -> bool:
        """Whether it is certain that none of them changed."""
        return not self.racy and all(
            file_stamp(self.root, path) == stamp for path, stamp in self.stamps.items()
        )


def snapshot_folders(root: int) -> FolderSnapshot | None:
    """The stamps now; `None` if there are too many folders. Call it before listing: a change meanwhile then shows at
    the next check."""
    now = time.time_ns()
    paths = itertools.chain(_RULES, (".",), _folders_and_rules(root, "."))
    stamps = {path: file_stamp(root, path) for path in itertools.islice(paths, MAX_FOLDERS + 1)}
    if len(stamps) > MAX_FOLDERS:
        return None
    return FolderSnapshot(root, stamps, any(stamp and now - stamp[1] < RACY for stamp in stamps.values()))


def file_stamp(root: int, path: str) -> Stamp | None:
    """Times, size, inode and mode of the file or folder `path`; `None` if it does not exist. Links are not followed."""
    try:
        status = os.stat(path, dir_fd=root, follow_symlinks=False)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


def _folders_and_rules(root: int, folder: str) -> Iterator[str]:
    """Folders beneath `folder`, and the rule files in it and in them. A `.git` is never entered."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    except OSError:
        return  # gone meanwhile, or not ours to read: git cannot list it either
    try:
        with os.scandir(fd) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    finally:
        os.close(fd)
    for name, is_folder in names:
        path = name if folder == "." else f"{folder}/{name}"
        if is_folder and name != ".git":
            yield path
            yield from _folders_and_rules(root, path)
        elif name == ".gitignore":
            yield path


_FREE = 1000
_FILES_A_FOLDER = 5
"""Checking a folder takes as long as git takes for five files. With more folders than that (a large `node_modules`
beside few files), git lists the files each time."""


class FileListCache:
    """One for each workspace. Not thread-safe: the host runs one call at a time."""

    def __init__(self, root: Path, tmp: Path, cancelled: Cancellation) -> None:
        self._root = root
        self._tmp = tmp
        self._cancelled = cancelled
        self._fd = -1
        self._folders: FolderSnapshot | None = None
        self._snapshots_worthwhile = True
        self._names: list[str] = []
        self._untracked: list[str] = []

    def names(self, below: str = "") -> list[str]:
        """The result of `listing.files` for the tree, or for the folder `below`. Callers must not change it."""
        if not self._is_unchanged():
            self._ask()
        return _in_folder(self._names, below)

    def names_and_untracked(self, below: str = "") -> FileList | None:
        """The same with the untracked files; `None` if the cache is out of date."""
        if not self._is_unchanged():
            return None
        return FileList(_in_folder(self._names, below), _in_folder(self._untracked, below))

    def _is_unchanged(self) -> bool:
        return self._folders is not None and self._folders.is_unchanged()

    def _ask(self) -> None:
        if self._fd < 0:
            self._fd = os.open(self._root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folders = None
        snapshot = snapshot_folders(self._fd) if self._snapshots_worthwhile else None
        file_list = list_files(self._root, tmp=self._tmp, cancelled=self._cancelled)
        self._names, self._untracked = file_list.names, file_list.untracked or []
        # A list that git did not make, having been cancelled or being absent, is good for this once.
        if snapshot is None or file_list.untracked is None:
            return
        self._snapshots_worthwhile = len(snapshot.stamps) <= _FREE + len(file_list.names) // _FILES_A_FOLDER
        self._folders = snapshot if self._snapshots_worthwhile else None


def _in_folder(names: list[str], folder: str) -> list[str]:
    return [name for name in names if name.startswith(f"{folder}/")] if folder else names

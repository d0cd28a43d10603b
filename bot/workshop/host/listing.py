"""The files of the work tree as people mean it: all of them, tracked or not, but nothing that is ignored.

git is asked where it is there, through a scratch repository of ours: the tree's own `.git` can hold any
configuration, may be broken, or may not exist. Only its index is read, since a tracked file is never ignored.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.workshop.host import ignore
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.programs import Finished, run_program

_TIMEOUT = 60.0
_CAP = 256 * 1024 * 1024
_ATTRIBUTES = b"* !diff !text !eol !filter !ident !working-tree-encoding\n"
# Stands for the content of a file in an index that is only a list of names: git's empty blob.
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
    return listed(root, below=below, tmp=tmp, cancelled=cancelled).names


@dataclass(frozen=True, slots=True)
class Listed:
    """`names` as `files` gives them; `untracked` are those that the tree's index does not list, `None` where it was
    not git that listed them."""

    names: list[str]
    untracked: list[str] | None


def listed(
    root: Path, *, below: str = "", tmp: Path | None = None, cancelled: Cancellation | None = None
) -> Listed:
    """What is not ignored beneath `root`, told apart."""
    with scratch_repository(root, tmp, cancelled) as git:
        found = git.present(below) if git else None
        if git is None or found is None:
            return Listed(_walked(root, below, hidden_too=False), None)
        # Both are in git's order, byte by byte; mostly they are the same list.
        tracked = git.tracked(below)
        if tracked == found:
            return Listed(sorted(found), [])
        still_there = [name for name in set(tracked).difference(found) if _is_present(root, name)]
        return Listed(sorted(found + still_there), sorted(set(found).difference(tracked)))


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
        if ignore.is_repository(folder):
            return True
    return False


@dataclass(frozen=True, slots=True)
class ScratchRepository:
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
    ) -> Finished:
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
    def index(self) -> Path | None:
        """The tree's own index, where it has one."""
        index = self.root / ".git" / "index"
        return index if index.is_file() else None

    def present(self, below: str = "", index: Path | None = None) -> list[str] | None:
        """Files on the disk that are not ignored and not in `index`; `None` when git could not say."""
        found = self.run("ls-files", "-o", "--exclude-standard", "-z", "--", below or ".", index=index)
        if found.exit_code != 0 or found.capped:
            return None
        names = _names(found.output)
        # A repository within the repository is one name with a slash at its end.
        return [name for name in names if not name.endswith("/")] if b"/\0" in found.output else names

    def tracked(self, below: str = "") -> list[str]:
        """What the tree's index lists; nothing where git cannot read it."""
        if self.index is None:
            return []
        found = self.run("ls-files", "-z", "--", below or ".", index=self.index)
        return _names(found.output) if found.exit_code == 0 else []

    def index_of(self, names: Iterable[str]) -> Path | None:
        """An index that lists exactly `names`, for a git command to work on; `None` when git could not make it."""
        index = self.folder / f"index-{os.urandom(4).hex()}"
        entries = b"".join(_ENTRY % os.fsencode(name) for name in names)
        made = self.run("update-index", "-z", "--index-info", index=index, stdin=entries)
        return index if made.exit_code == 0 else None


@contextmanager
def scratch_repository(
    root: Path, tmp: Path | None = None, cancelled: Cancellation | None = None
) -> Iterator[ScratchRepository | None]:
    """A `ScratchRepository` in `tmp`, or `None` where there is no git program or no room for one."""
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
            if (_git_is_there(environment["PATH"]) and _made(folder))
            else None
        )
    finally:
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)


def _made(folder: Path) -> bool:
    try:
        for part in ("", "objects", "refs", "info"):
            (folder / part).mkdir(mode=0o700)
        (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        # A repository's own attributes win over those in the tree, which could call text binary or convert it.
        (folder / "info" / "attributes").write_bytes(_ATTRIBUTES)
        (folder / "info" / "exclude").write_bytes(ignore.BYTECODE)
    except OSError:
        return False  # a full disk: searching goes on without git
    return True


def _git_is_there(path: str) -> bool:
    return any(os.access(os.path.join(part, "git"), os.X_OK) for part in path.split(os.pathsep) if part)


def _walked(root: Path, below: str, *, hidden_too: bool) -> list[str]:
    found = ignore.walk(os.fsencode(root), os.fsencode(below), hidden_too=hidden_too)
    return sorted(map(os.fsdecode, found))


def _names(output: bytes) -> list[str]:
    return os.fsdecode(output).split("\0")[:-1]

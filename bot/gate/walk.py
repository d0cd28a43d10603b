"""Find the changes of a work tree against its base by reading every file.

An entry that no commit may contain is left out with a reason; the base's version of it stays unchanged.

The stat data, the index and the `.git` of the tree are not trusted, and no link is followed: every folder is opened
below one descriptor (`open_below`), every file by a bare name in such a folder with O_NOFOLLOW.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from bot.checkout.objects import sizes
from bot.contracts.errors import GateError
from bot.contracts.plain_text import quoted
from bot.contracts.regular_files import TO_READ
from bot.gate.change_limits import ChangeLimits
from bot.gate.confined_folder import open_below, open_confined, read_all
from bot.gate.errors import capacity_error
from bot.gate.gitignore import IgnoreRules
from bot.gate.objects import FILE, GITLINK, LINK, PROGRAM, Change, Entry, Scratch, TreeDiff, blob_id, parents
from bot.gate.path_rules import is_git_folder, refusal

_CHUNK = 1 << 20
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}


def changes(
    scratch: Scratch,
    tree: Path,
    *,
    setup_files: Collection[str],
    links: Mapping[str, str],
    edited: Collection[str],
) -> TreeDiff:
    """Return every change of `tree` against the base, contents included. Raises `GateError` for an unreadable tree.

    New files named in `setup_files` are no change, whatever their contents, and neither are new links with the target
    that `links` states. Over the limits the paths in `edited` come first.
    """
    with _open_tree(tree) as root:
        walk = _Walk(scratch, root, links, edited)
        walk.tracked()
        for path in walk.untracked():
            if path not in setup_files:
                walk.take(path)
    return walk.result(setup_files)


def untracked(scratch: Scratch, tree: Path) -> frozenset[str]:
    """Return the entries of `tree` that are not in the base and not ignored by its rules."""
    with _open_tree(tree) as root:
        walk = _Walk(scratch, root)
        walk.tracked()
        return frozenset(walk.untracked()) | walk.unfit.keys()


@contextmanager
def _open_tree(tree: Path) -> Iterator[int]:
    with open_confined(tree) as root:
        try:
            yield root
        except OSError as error:
            raise capacity_error(error) or GateError(
                f"the work tree cannot be read: {error.strerror}: {quoted(str(error.filename))}"
            ) from error


class _Walk:
    def __init__(
        self,
        scratch: Scratch,
        root: int,
        links: Mapping[str, str] = MappingProxyType({}),
        edited: Collection[str] = (),
    ) -> None:
        self._scratch = scratch
        self._base = scratch.base
        self._root = root
        self._limits = scratch.limits
        self._too_large = f"over the limit of {scratch.limits.file_bytes} bytes a file"
        self._links = links
        self._edited = edited
        self._device = os.fstat(root).st_dev
        self._tracked_folders = _folders(scratch.base)
        self._seen: set[str] = set()
        self._groups = tuple(_Group(kind, scratch.limits) for kind in _KINDS_OF_CHANGES)
        self._entries = 0
        self._rules = IgnoreRules(scratch)
        self._new_folders: list[str] = []
        self._new_files: list[str] = []
        self.unfit: dict[str, str] = {}

    def result(self, setup_files: Collection[str]) -> TreeDiff:
        for path, entry in self._base.items():
            # A submodule's folder may be missing: submodules are not fetched.
            if path in self._seen or entry.mode == GITLINK:
                continue
            if not any(folder in self.unfit for folder in parents(path)):
                self._add(Change(path, entry, None, None))
        taken, unfit, unchanged = _within_limits(self._groups, self._limits)
        unfit |= {path: reason for path, reason in self.unfit.items() if path not in setup_files}
        unchanged.update(path for path in self.unfit if path in self._base)
        return TreeDiff(sorted(taken, key=lambda change: os.fsencode(change.path)), unfit, unchanged)

    def _leave_out(self, path: str, reason: str) -> None:
        """Report the path and do not read it again: what the base has there or below stays unchanged."""
        self.unfit.setdefault(path, reason)
        self._seen.add(path)

    def tracked(self) -> None:
        """Compare the folders of the base, and collect new entries for the ignore rules."""
        ahead = [""]
        while ahead:
            folder = ahead.pop()
            with self._folder(folder) as descriptor:
                if descriptor is not None:
                    ahead += self._compare_folder(descriptor, f"{folder}/" if folder else "")

    def _compare_folder(self, descriptor: int, prefix: str) -> list[str]:
        """Compare the entries of a folder. Return the tracked folders in it."""
        inner: list[str] = []
        for name, is_folder in self._list(descriptor):
            path = prefix + name
            entry = self._base.get(path)
            if path == ".git":
                continue
            if entry is not None and entry.mode == GITLINK:
                with self._folder(path) if is_folder else nullcontext() as opened:
                    if not is_folder or (opened is not None and os.listdir(opened)):
                        self._leave_out(path, "a submodule, and what is in it was changed")
            elif entry is not None and not is_folder:
                self._seen.add(path)
                self._compare(descriptor, name, path, entry)
            elif path in self._tracked_folders and is_folder:
                inner.append(path)
            else:
                self._add_new(path, name, is_folder)
        return inner

    def untracked(self) -> Iterator[str]:
        """Yield the new files that are not ignored, level by level: ignored folders are not read."""
        while self._new_folders or self._new_files:
            folders, files = self._rules.left_in(self._new_folders, self._new_files)
            self._new_folders, self._new_files = [], []
            yield from (path for path in files if self._has_fit_name(path))
            for folder in filter(self._has_fit_name, folders):
                self._enter(folder)

    def _has_fit_name(self, path: str) -> bool:
        if reason := refusal(path):
            self._leave_out(path, f"the path {reason}")
        return not reason

    def _enter(self, folder: str) -> None:
        with self._folder(folder) as descriptor:
            inner = [] if descriptor is None else list(self._list(descriptor))
        # Before any ignore rule: git skips these silently.
        if own := next((name for name, _ in inner if is_git_folder(name)), ""):
            self._leave_out(
                folder, f"a repository of its own: {quoted(own)} is or looks like git's own folder"
            )
            return
        for name, is_folder in inner:
            self._add_new(f"{folder}/{name}", name, is_folder)

    def _add_new(self, path: str, name: str, is_folder: bool) -> None:
        if is_git_folder(name):
            self._leave_out(path, "the path is or looks like git's own folder")
        elif path.count("/") > self._limits.depth:
            self._leave_out(path, f"nested deeper than {self._limits.depth} folders")
        elif self._rules.is_too_long(path):
            self._leave_out(path, "the path is too long")
        else:
            (self._new_folders if is_folder else self._new_files).append(path)

    def take(self, path: str) -> None:
        """Add a new file as a change."""
        folder, _, name = path.rpartition("/")
        with self._folder(folder) as descriptor:
            if descriptor is not None:
                self._compare(descriptor, name, path, None)

    def _compare(self, folder: int, name: str, path: str, old: Entry | None) -> None:
        try:
            descriptor = os.open(name, TO_READ, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                target = os.fsencode(os.readlink(name, dir_fd=folder))
                new = Entry(LINK, blob_id(target, self._scratch.object_format))
                if new != old and (old is not None or self._links.get(path) != os.fsdecode(target)):
                    self._add(Change(path, old, new, target))
            elif error.errno == errno.ENXIO:
                self._leave_out(path, "a socket or a device, not a file")
            else:
                self._leave_out_unread(path, error)
            return
        try:
            self._compare_file(descriptor, path, old)
        finally:
            os.close(descriptor)

    def _compare_file(self, descriptor: int, path: str, old: Entry | None) -> None:
        status = os.fstat(descriptor)
        mode = PROGRAM if status.st_mode & stat.S_IXUSR else FILE
        if not stat.S_ISREG(status.st_mode):
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a device")
            return self._leave_out(path, f"{kind}, not a file")
        if status.st_dev != self._device:
            return self._leave_out(path, "on another file system than the work tree")
        if status.st_size > self._limits.file_bytes:
            if old is None or not self._is_large_original(descriptor, status.st_size, old):
                self._leave_out(path, self._too_large)
            elif mode != old.mode:
                self._leave_out(path, f"its mode changed, and it is {self._too_large}")
            return None
        data = os.read(descriptor, status.st_size + 1)
        if len(data) != status.st_size:
            rest = read_all(descriptor, self._limits.file_bytes - len(data))
            if rest is None:
                return self._leave_out(path, self._too_large)
            data += rest
        new = Entry(mode, blob_id(data, self._scratch.object_format))
        if new == old:
            return None
        if status.st_nlink > 1:
            return self._leave_out(path, "a hard link: what it shares its content with is unknown")
        if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            return self._leave_out(path, "its setuid or setgid bit is set")
        return self._add(Change(path, old, new, data))

    def _is_large_original(self, descriptor: int, size: int, old: Entry) -> bool:
        """Whether a file over the limit is unchanged. Sizes are compared first: it may be a huge sparse file."""
        if old.mode == LINK or sizes(self._scratch.git, [old.sha]) != [size]:
            return False
        digest = hashlib.new(self._scratch.object_format, b"blob %d\0" % size, usedforsecurity=False)
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
        return digest.hexdigest() == old.sha

    def _add(self, change: Change) -> None:
        kind = 0 if change.path in self._edited else 1 if change.old is not None else 2
        self._groups[kind].add(change)

    @contextmanager
    def _folder(self, folder: str) -> Iterator[int | None]:
        """Yield `None` if the folder cannot be opened; then it is left out. Raises `OSError` for the root."""
        try:
            descriptor = open_below(self._root, folder)
        except OSError as error:
            if not folder:
                raise
            self._leave_out_unread(folder, error)
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _leave_out_unread(self, path: str, error: OSError) -> None:
        """Raise `OutOfCapacity` if the machine, not the tree, is the cause."""
        if shortage := capacity_error(error):
            raise shortage from error
        self._leave_out(path, f"it cannot be read: {error.strerror}")

    def _list(self, descriptor: int) -> Iterator[tuple[str, bool]]:
        """Yield entries in the order of their names: over the limits, the order decides."""
        limit = self._limits.entries - self._entries
        with os.scandir(descriptor) as entries:
            listed = [
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, limit + 1)
            ]
        self._entries += len(listed)
        if self._entries > self._limits.entries:
            raise GateError(f"the work tree holds more than {self._limits.entries} files: that is the limit")
        yield from sorted(listed)


def _folders(base: Mapping[str, Entry]) -> set[str]:
    folders: set[str] = set()
    for path in base:
        for folder in parents(path):
            if folder in folders:
                break
            folders.add(folder)
    return folders


_KINDS_OF_CHANGES = ("edited files", "changed files", "new files")
"""Files that the edit tools wrote, other files of the base, other new files: they are published in this order."""


@dataclass
class _Group:
    """Changes of one kind: all `paths`, each with whether the base has it, and the first `changes` up to the limits."""

    kind: str
    limits: ChangeLimits
    paths: list[tuple[str, bool]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    bytes: int = 0

    def add(self, change: Change) -> None:
        size = len(change.data or b"")
        fits = len(self.changes) < self.limits.files and self.bytes + size <= self.limits.total_bytes
        if fits and len(self.changes) == len(self.paths):
            self.changes.append(change)
            self.bytes += size
        self.paths.append((change.path, change.old is not None))


def _within_limits(
    groups: Sequence[_Group], limits: ChangeLimits
) -> tuple[list[Change], dict[str, str], set[str]]:
    """Return the changes within the limits, a reason for each group that is left out or cut, and the paths of the base
    in it.

    A part of what a command wrote would be a broken change, so only the group of edited files is cut.
    """
    taken: list[Change] = []
    rows: dict[str, str] = {}
    unchanged: set[str] = set()
    left = limits.total_bytes
    for group in groups:
        count, fitting = len(group.paths), len(group.changes)
        if count == fitting and len(taken) + count <= limits.files and group.bytes <= left:
            taken += group.changes
            left -= group.bytes
            continue
        over = f"more than {limits.files} files are changed"
        if count <= limits.files - len(taken):
            over = f"the changed files hold more than {limits.total_bytes} bytes"
        if group.kind == _KINDS_OF_CHANGES[0]:
            taken, left = list(group.changes), left - group.bytes
            rows[group.paths[fitting][0]] = f"{count - fitting} of {count} {group.kind}: {over}"
        else:
            fitting = 0
            rows[min(group.paths)[0]] = f"all {count} {group.kind}: {over}"
        unchanged |= {path for path, is_tracked in group.paths[fitting:] if is_tracked}
    return taken, rows, unchanged

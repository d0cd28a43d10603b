"""What differs between a work tree and its base, found by reading every byte.

No stat data, index or `.git` of the tree is believed, and no link is followed: every folder is opened by
`openat2` beneath one descriptor, every file by a bare name in such a folder with O_NOFOLLOW.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from bot.gate.errors import GateLimits, HostileTree, no_room, shown
from bot.gate.ignored import IgnoreRules
from bot.gate.objects import FILE, GITLINK, LINK, PROGRAM, Change, Entry, blob_id, sizes
from bot.gate.reader import Beneath, opened, read_all
from bot.gate.rules import is_git_folder, refusal
from bot.gate.scratch import Scratch

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20


def changes(
    scratch: Scratch,
    base: Mapping[str, Entry],
    tree: Path,
    limits: GateLimits,
    passed_over: Collection[str] = (),
    links: Mapping[str, str] = MappingProxyType({}),
) -> list[Change]:
    """Every change of `tree` against `base`, contents included. Raises `HostileTree`.

    New files named in `passed_over` are no change, whatever is in them; of `links`, those that lead where it says.
    """
    with _walking(scratch, base, tree, limits) as walk:
        walk.links = links
        walk.tracked()
        for path in walk.untracked():
            if path not in passed_over:
                walk.take(path)
    return walk.result()


def untracked(scratch: Scratch, base: Mapping[str, Entry], tree: Path, limits: GateLimits) -> frozenset[str]:
    """The files of `tree` that the base does not have and its ignore rules do not leave out."""
    with _walking(scratch, base, tree, limits) as walk:
        walk.tracked()
        return frozenset(walk.untracked())


@contextmanager
def _walking(scratch: Scratch, base: Mapping[str, Entry], tree: Path, limits: GateLimits) -> Iterator[_Walk]:
    with opened(tree) as beneath:
        try:
            yield _Walk(scratch, base, beneath, limits)
        except OSError as error:
            raise no_room(error) or HostileTree(
                f"the work tree cannot be read: {error.strerror}: {shown(str(error.filename))}"
            ) from error


class _Walk:
    def __init__(
        self, scratch: Scratch, base: Mapping[str, Entry], beneath: Beneath, limits: GateLimits
    ) -> None:
        self._scratch = scratch
        self._base = base
        self._beneath = beneath
        self._limits = limits
        self._device = os.fstat(beneath.descriptor).st_dev
        self._tracked_folders = _folders(base)
        self._seen: set[str] = set()
        self._changes: list[Change] = []
        self._entries = 0
        self._bytes = 0
        self._new_folders: list[str] = []
        self._new_files: list[str] = []
        self.links: Mapping[str, str] = {}

    def result(self) -> list[Change]:
        for path, entry in self._base.items():
            # A submodule's folder may be missing: nothing of it was fetched.
            if path not in self._seen and entry.mode != GITLINK:
                self._add(Change(path, entry, None, None))
        return sorted(self._changes, key=lambda change: os.fsencode(change.path))

    def tracked(self) -> None:
        """Compare the folders that the base has; what is new in them waits for the ignore rules."""
        ahead = [""]
        while ahead:
            folder = ahead.pop()
            descriptor = self._open_folder(folder)
            try:
                ahead += self._compare_folder(descriptor, f"{folder}/" if folder else "")
            finally:
                os.close(descriptor)

    def _compare_folder(self, descriptor: int, prefix: str) -> list[str]:
        """The tracked folders in this one."""
        inner: list[str] = []
        for name, is_folder in self._list(descriptor):
            path = prefix + name
            entry = self._base.get(path)
            if path == ".git":
                continue
            if entry is not None and entry.mode == GITLINK:
                self._submodule(path, is_folder)
            elif entry is not None and not is_folder:
                self._seen.add(path)
                self._compare(descriptor, name, path, entry)
            elif path in self._tracked_folders and is_folder:
                inner.append(path)
            else:
                self._found_new(path, name, is_folder)
        return inner

    def untracked(self) -> Iterator[str]:
        """The files that are new and not ignored, level by level: ignored folders are never entered."""
        rules = IgnoreRules(self._scratch, self._base)
        while self._new_folders or self._new_files:
            folders, files = rules.left_in(self._new_folders, self._new_files)
            self._new_folders, self._new_files = [], []
            yield from files
            for folder in folders:
                _check_name(folder)
                self._enter(folder)

    def _enter(self, folder: str) -> None:
        descriptor = self._open_folder(folder)
        try:
            for name, is_folder in self._list(descriptor):
                self._found_new(f"{folder}/{name}", name, is_folder)
        finally:
            os.close(descriptor)

    def _found_new(self, path: str, name: str, is_folder: bool) -> None:
        # Before any ignore rule: git would pass over these without a word.
        if is_git_folder(name):
            raise HostileTree(f"the path {shown(path)} is or looks like git's own folder", path)
        if path.count("/") > self._limits.depth:
            raise HostileTree(f"{shown(path)} is nested deeper than {self._limits.depth} folders", path)
        (self._new_folders if is_folder else self._new_files).append(path)

    def take(self, path: str) -> None:
        """A new file is a change."""
        _check_name(path)
        folder, _, name = path.rpartition("/")
        descriptor = self._open_folder(folder)
        try:
            self._compare(descriptor, name, path, None)
        finally:
            os.close(descriptor)

    def _compare(self, folder: int, name: str, path: str, old: Entry | None) -> None:
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._compare_link(os.fsencode(os.readlink(name, dir_fd=folder)), path, old)
                return
            if error.errno == errno.ENXIO:
                raise HostileTree(f"{shown(path)} is a socket or a device, not a file", path) from error
            unread = HostileTree(f"{shown(path)} cannot be read: {error.strerror}", path)
            raise no_room(error) or unread from error
        try:
            self._compare_file(descriptor, path, old)
        finally:
            os.close(descriptor)

    def _compare_link(self, target: bytes, path: str, old: Entry | None) -> None:
        if old is None and self.links.get(path) == os.fsdecode(target):
            return
        new = Entry(LINK, blob_id(target, self._scratch.object_format))
        if new != old:
            self._add(Change(path, old, new, target))

    def _compare_file(self, descriptor: int, path: str, old: Entry | None) -> None:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise HostileTree(f"{shown(path)} is {_kind(status.st_mode)}, not a file", path)
        if status.st_dev != self._device:
            raise HostileTree(f"{shown(path)} is on another file system than the work tree", path)
        mode = PROGRAM if status.st_mode & stat.S_IXUSR else FILE
        if status.st_size > self._limits.file_bytes:
            if old is not None and self._is_large_original(descriptor, status.st_size, old):
                if mode != old.mode:
                    raise HostileTree(
                        f"the mode of {shown(path)} changed, and the file is over the limit", path
                    )
                return
            raise self._too_large(path)
        data = os.read(descriptor, status.st_size + 1)
        if len(data) != status.st_size:
            rest = read_all(descriptor, self._limits.file_bytes - len(data))
            if rest is None:
                raise self._too_large(path)
            data += rest
        new = Entry(mode, blob_id(data, self._scratch.object_format))
        if new == old:
            return
        if status.st_nlink > 1:
            raise HostileTree(
                f"{shown(path)} is a hard link: what it shares its content with is unknown", path
            )
        if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            raise HostileTree(f"{shown(path)} has its setuid or setgid bit set", path)
        self._add(Change(path, old, new, data))

    def _is_large_original(self, descriptor: int, size: int, old: Entry) -> bool:
        """Whether a file over the limit is the base's own. Sizes first: it may be sparse and endless."""
        if old.mode == LINK or sizes(self._scratch.git, [old.sha]) != [size]:
            return False
        digest = hashlib.new(self._scratch.object_format, b"blob %d\0" % size, usedforsecurity=False)
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
        return digest.hexdigest() == old.sha

    def _submodule(self, path: str, is_folder: bool) -> None:
        if is_folder:
            descriptor = self._open_folder(path)
            try:
                is_folder = not os.listdir(descriptor)
            finally:
                os.close(descriptor)
        if not is_folder:
            raise HostileTree(f"{shown(path)} is a submodule, and what is in it was changed", path)

    def _add(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > self._limits.files:
            raise HostileTree(
                f"more than {self._limits.files} files are changed: that is the limit", change.path
            )
        self._bytes += len(change.data or b"")
        if self._bytes > self._limits.total_bytes:
            raise HostileTree(
                f"the changed files hold more than {self._limits.total_bytes} bytes: that is the limit",
                change.path,
            )

    def _open_folder(self, folder: str) -> int:
        try:
            return self._beneath.open_folder(folder or ".")
        except OSError as error:
            unread = HostileTree(f"the folder {shown(folder)} cannot be read: {error.strerror}", folder)
            raise no_room(error) or unread from error

    def _list(self, descriptor: int) -> Iterator[tuple[str, bool]]:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > self._limits.entries:
                    raise HostileTree(
                        f"the work tree holds more than {self._limits.entries} files: that is the limit"
                    )
                yield entry.name, entry.is_dir(follow_symlinks=False)

    def _too_large(self, path: str) -> HostileTree:
        return HostileTree(f"{shown(path)} is over the limit of {self._limits.file_bytes} bytes a file", path)


def _folders(base: Mapping[str, Entry]) -> set[str]:
    folders: set[str] = set()
    for path in base:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def _check_name(path: str) -> None:
    reason = refusal(path)
    if reason is not None:
        raise HostileTree(f"the path {shown(path)} {reason}", path)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a device"

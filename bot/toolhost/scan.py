"""Report the files of the work tree that changed since the last scan, for the journal.

Only a file whose size, times, inode or mode changed is read. Ignored files are left out, as in `listing`. What a tool
wrote is in that tool's result and is not reported again (`note`).
"""

import base64
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from bot.contracts.regular_files import TO_READ
from bot.toolhost import programs
from bot.toolhost.context import Context
from bot.toolhost.encoding import sha256

CONTENT_LIMIT = 1024 * 1024
"""Bytes of one file that are sent; a larger one is only hashed."""

_READ_LIMIT = 64 * 1024 * 1024
"""Bytes of a file over which it is not hashed: `truncate -s 8T` takes a moment, reading the file takes hours. The gate
refuses files far below that size."""

_TOTAL_LIMIT = 64 * 1024 * 1024


RACY = 20_000_000
"""Nanoseconds in which something can change without its times moving: kernels stamp in ticks of 4 to 10 ms."""

Stamp = tuple[int, int, int, int, int]


class _Known(NamedTuple):
    """`digest` is `None` if the file was not read yet."""

    stamp: Stamp
    digest: str | None
    racy: bool


class Scanner:
    """One for each workspace. Not thread-safe: the host runs one call at a time."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.note_for_people = ""
        self._known: dict[str, _Known] = {}
        self._commit = ""
        self._failure: OSError | None = None
        self._root = -1

    def take_base(self) -> None:
        """Record the work tree as it is now, which the first `changes` compares with."""
        # Paths relative to a descriptor: half the time of absolute ones, and there are 50,000 of them.
        self._root = os.open(self.context.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._commit = (self._git("rev-parse", "HEAD") or b"").decode("ascii", "replace").strip()
        now = time.time_ns()
        try:
            names = self.context.files()
        except OSError as error:
            self._failure = error  # without a base every file would be new
            return
        for path in names:
            if (stamp := _stamp(self._root, path)) is not None:
                racy, digest = now - stamp[1] < RACY, None
                if racy and stamp[2] <= _READ_LIMIT:
                    with suppress(OSError):  # one that may not be read
                        digest = _read(self._root, path, stamp[4])[1]
                self._known[path] = _Known(stamp, digest, racy)

    def changes(self) -> Iterator[dict[str, Any]]:
        """Yield the files that differ from their known state, and update that. Raises `OSError` if git cannot list
        files, or could not at the start."""
        if self._failure is not None:
            raise self._failure
        now, root, self.note_for_people = time.time_ns(), self.context.root, ""
        stamps = {path: stamp for path in self.context.files() if (stamp := _stamp(self._root, path))}
        # Files whose stat data changed, or is too recent to tell.
        states = ((path, stamp, self._known.get(path)) for path, stamp in sorted(stamps.items()))
        moved = [one for one in states if not one[2] or one[2].racy or one[2].stamp != one[1]]
        # A file that is no longer listed may also have become ignored: gone is only what is not there.
        gone = sorted(path for path in self._known if path not in stamps and not os.path.lexists(root / path))
        total = 0
        for path, stamp, known in moved:
            if stamp[2] > _READ_LIMIT:
                self._known[path] = _Known(stamp, None, racy=False)
                self.note_for_people = f"files over {_READ_LIMIT >> 20} MiB were not looked at"
                continue
            try:
                content, digest, link = _read(self._root, path, stamp[4])
            except OSError:
                continue  # gone or closed to us meanwhile: the next scan sees it again
            before = None if known is None else known.digest or ""
            self._known[path] = _Known(stamp, digest, now - stamp[1] < RACY)
            if known is not None and before == digest and known.stamp[4] == stamp[4]:
                continue
            if content is not None and total + len(content) > _TOTAL_LIMIT:
                content = None
                self.note_for_people = (
                    f"over {_TOTAL_LIMIT >> 20} MiB changed at once: the contents of some files are missing"
                )
            total += len(content or b"")
            encoded = None if content is None else base64.b64encode(content).decode("ascii")
            yield _entry(path, before, digest, stamp, link, encoded)
        for path in gone:
            last = self._known.pop(path)
            yield _entry(path, last.digest or "", None, last.stamp)

    def base_content(self, path: str) -> bytes | None:
        """A file's bytes in the commit that the workspace started on; `None` if it is not in it, or a command broke the
        `.git`."""
        return self._git("cat-file", "blob", f"{self._commit}:{path}") if self._commit else None

    def note(self, metadata: Mapping[str, Any]) -> None:
        """Update the known state of the files that a tool changed, which its result's metadata names."""
        for file in changed_files(metadata):
            path, digest = file["path"], file["after_hash"]
            if digest is None:
                self._known.pop(path, None)
            elif (stamp := _stamp(self._root, path)) is not None:
                self._known[path] = _Known(stamp, digest, racy=True)

    def _git(self, *arguments: str) -> bytes | None:
        """The output of the system's git for the disposable `.git`, whatever a command put into an environment of the
        tree or into HOME; `None` if it fails."""
        own = {**self.context.environment, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        try:
            finished = programs.run_program(
                ["git", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", *arguments],
                cwd=self.context.root,
                environment={**own, "PATH": f"{programs.SYSTEM_PATH}:{own.get('PATH', '')}"},
                timeout=60,
                cap=256 * 1024 * 1024,
                cancelled=self.context.cancelled,
            )
        except OSError:
            return None
        return finished.output if finished.exit_code == 0 else None


def changed_files(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the metadata of a result says of each file that the tool changed."""
    return [one for one in metadata.get("files", [metadata]) if "after_hash" in one]


def _entry(
    path: str,
    before: str | None,
    after: str | None,
    stamp: Stamp,
    link: str | None = None,
    content: str | None = None,
) -> dict[str, Any]:
    mode = stat.S_IMODE(stamp[4])
    return {"path": path, "before": before, "after": after, "mode": mode, "link": link, "content": content}


def _stamp(root: int, path: str) -> Stamp | None:
    """Times, size, inode and mode of a file or link; `None` if it is absent or anything else. Links are not
    followed."""
    try:
        status = os.stat(path, dir_fd=root, follow_symlinks=False)
    except OSError:
        return None
    if stat.S_IFMT(status.st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


def _read(root: int, path: str, mode: int) -> tuple[bytes | None, str, str | None]:
    """Content (`None` when over the limit, or a link), sha256, and the target of a link."""
    if stat.S_ISLNK(mode):
        target = os.readlink(path, dir_fd=root)
        return None, sha256(os.fsencode(target)), os.fsencode(target).decode("utf-8", "replace")
    fd = os.open(path, TO_READ, dir_fd=root)
    with open(fd, "rb") as file:
        content = file.read(CONTENT_LIMIT + 1)
        if len(content) <= CONTENT_LIMIT:
            return content, sha256(content), None
        file.seek(0)
        return None, hashlib.file_digest(file, "sha256").hexdigest(), None

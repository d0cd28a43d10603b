"""Store every version of every file that the tools changed, in a folder outside the work tree.

Two files, both append-only: `content` has the bytes of each version once, `log.jsonl` a line for each of them and for
each version, in the order of the changes. One file for each version would double the time of a patch of many files.

Version 0 is the file before the first change, which may be absent. A change by a command between two changes of tools
is a version of its own. A deletion is a version without bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

OUTSIDE = "outside"
"""The `tool` of a version that a command made."""

_LOG, _CONTENT = "log.jsonl", "content"


class Version(NamedTuple):
    """One state of the file `path` (relative to the root). `sha256` is `None` if it is absent; `seq` is the call's
    number, `mode` the permission bits."""

    path: str
    number: int
    sha256: str | None
    mode: int | None
    tool: str
    seq: int


class State(NamedTuple):
    """Bytes of a file with their hash; both `None` if it is absent."""

    data: bytes | None = None
    sha256: str | None = None
    mode: int | None = None


class ChangedFile(NamedTuple):
    path: str
    before: State
    after: State


class FileHistory:
    """The history in one folder. A second instance on the same folder continues the log of the first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._versions: dict[str, list[Version]] | None = None
        self._positions: dict[str, tuple[int, int]] = {}
        self._size = 0

    def record(self, tool: str, seq: int, changes: Iterable[ChangedFile]) -> None:
        """Log what one call changed. Raises `OSError`."""
        new_versions: list[Version] = []
        states: list[State] = []
        for change in changes:
            known = self._known().setdefault(change.path, [])
            if not known or known[-1].sha256 != change.before.sha256:
                by = OUTSIDE if known else "base"
                new_versions.append(_add(known, change.path, change.before, by, seq))
            new_versions.append(_add(known, change.path, change.after, tool, seq))
            states += [change.before, change.after]
        contents = self._append_contents(states)
        lines = [json.dumps(line) + "\n" for line in (*contents, *map(_plain, new_versions))]
        self._append(_LOG, "".join(lines).encode())

    def versions(self, path: str) -> tuple[Version, ...]:
        return tuple(self._known().get(path, ()))

    def content(self, version: Version) -> bytes | None:
        """The version's bytes, `None` for a deletion. Raises `LookupError` if they are missing or were changed:
        commands of the run can write in this folder."""
        if version.sha256 is None:
            return None
        if version.sha256 not in self._positions:
            raise LookupError("its bytes are gone")
        at, size = self._positions[version.sha256]
        try:
            with open(self._folder / _CONTENT, "rb") as file:
                file.seek(at)
                data = file.read(size)
        except OSError as error:
            raise LookupError(f"its bytes are gone: {error.strerror}") from error
        if sha256(data) != version.sha256:
            raise LookupError("its bytes were changed after they were kept")
        return data

    def _known(self) -> dict[str, list[Version]]:
        """The versions by path, including those that an earlier workspace of the run logged."""
        if self._versions is None:
            self._versions = {}
            with contextlib.suppress(FileNotFoundError):
                self._size = os.stat(self._folder / _CONTENT).st_size
            for plain in _read_log(self._folder / _LOG):
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    self._take(self._versions, plain)
        return self._versions

    def _take(self, versions: dict[str, list[Version]], plain: Mapping[str, Any]) -> None:
        if "size" in plain:
            self._positions[str(plain["sha256"])] = int(plain["at"]), int(plain["size"])
        else:
            version = _version(plain)
            versions.setdefault(version.path, []).append(version)

    def _append_contents(self, states: Iterable[State]) -> list[dict[str, Any]]:
        """Append the bytes that are not stored yet; return the log's lines about them."""
        new: list[bytes] = []
        lines: list[dict[str, Any]] = []
        at = self._size
        for state in states:
            if state.data is None or state.sha256 is None or state.sha256 in self._positions:
                continue
            size = len(state.data)
            new.append(state.data)
            self._positions[state.sha256] = at, size
            lines.append({"sha256": state.sha256, "at": at, "size": size})
            at += size
        if new:
            self._append(_CONTENT, b"".join(new))
            self._size = at
        return lines

    def _append(self, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._folder / name, flags, 0o600), "wb") as file:
            file.write(data)


def _add(known: list[Version], path: str, state: State, tool: str, seq: int) -> Version:
    version = Version(path, len(known), state.sha256, state.mode, tool, seq)
    known.append(version)
    return version


def _read_log(log: Path) -> Iterable[Mapping[str, Any]]:
    """The logged records. Damaged lines are skipped: losing a version loses no work."""
    try:
        rows = log.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for row in rows:
        with contextlib.suppress(ValueError):
            plain = json.loads(row)
            if isinstance(plain, dict):
                yield plain


def _version(plain: Mapping[str, Any]) -> Version:
    return Version(
        plain["path"], plain["version"], plain["sha256"], plain["mode"], plain["tool"], plain["call"]
    )


def _plain(version: Version) -> dict[str, Any]:
    return {
        "path": version.path,
        "version": version.number,
        "sha256": version.sha256,
        "mode": version.mode,
        "tool": version.tool,
        "call": version.seq,
    }


def sha256(data: bytes) -> str:
    """The hash as hexadecimal digits."""

    return hashlib.sha256(data, usedforsecurity=False).hexdigest()

"""Every version of every file that the tools changed: bytes by their hash, and a log in the order of the changes.

It lies in the run's folder, outside the work tree. Version 0 is what a file was before the first change, absent
included; what somebody else (a command) made of it between two changes is a version of its own; a deletion is one
without bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUTSIDE = "outside"
"""The `tool` of a version that no tool of ours made."""

_LOG = "log.jsonl"


@dataclass(frozen=True, slots=True)
class Version:
    """One state of the file `path` (relative to the root). `sha256` is `None` where it is absent; `seq` is the call's
    number, `mode` the permission bits."""

    path: str
    number: int
    sha256: str | None
    mode: int | None
    tool: str
    seq: int


@dataclass(frozen=True, slots=True)
class State:
    """Bytes of a file with their hash; both `None` where it is absent."""

    data: bytes | None = None
    sha256: str | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    path: str
    before: State
    after: State


class History:
    """One folder. A second one on the same folder goes on from what the first one logged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._versions: dict[str, list[Version]] | None = None
        self._kept: set[str] = set()

    def record(self, tool: str, seq: int, changes: Iterable[Changed]) -> None:
        """Log what one call changed. Raises `OSError`."""
        made: list[Version] = []
        for change in changes:
            known = self._known().setdefault(change.path, [])
            if not known:
                made.append(self._add(known, change, change.before, "base", seq))
            elif known[-1].sha256 != change.before.sha256:
                made.append(self._add(known, change, change.before, OUTSIDE, seq))
            made.append(self._add(known, change, change.after, tool, seq))
        lines = "".join(json.dumps(_plain(version)) + "\n" for version in made)
        with open(self._folder / _LOG, "ab", buffering=0) as log:
            log.write(lines.encode())

    def versions(self, path: str) -> tuple[Version, ...]:
        return tuple(self._known().get(path, ()))

    def content(self, version: Version) -> bytes | None:
        """The version's bytes, `None` for a deletion. Raises `LookupError` where they are gone or not what they were:
        commands of the run can write in this folder."""
        if version.sha256 is None:
            return None
        try:
            data = self._blob(version.sha256).read_bytes()
        except OSError as error:
            raise LookupError(f"its bytes are gone: {error.strerror}") from error
        if _sha256(data) != version.sha256:
            raise LookupError("its bytes were changed after they were kept")
        return data

    def _known(self) -> dict[str, list[Version]]:
        if self._versions is None:
            self._versions = {}
            for version in _read_log(self._folder / _LOG):
                self._versions.setdefault(version.path, []).append(version)
        return self._versions

    def _add(self, known: list[Version], change: Changed, state: State, tool: str, seq: int) -> Version:
        self._keep(state)
        version = Version(change.path, len(known), state.sha256, state.mode, tool, seq)
        known.append(version)
        return version

    def _keep(self, state: State) -> None:
        if state.data is None or state.sha256 is None or state.sha256 in self._kept:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._blob(state.sha256), flags, 0o600), "wb", buffering=0) as blob:
            blob.write(state.data)
        self._kept.add(state.sha256)

    def _blob(self, sha256: str) -> Path:
        return self._folder / sha256


def _read_log(log: Path) -> Iterable[Version]:
    """What is logged. A line that was cut or is none is passed over: losing a version loses no work."""
    try:
        rows = log.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for row in rows:
        try:
            yield _version(json.loads(row))
        except (ValueError, TypeError, KeyError):
            continue


def _version(plain: Mapping[str, Any]) -> Version:
    sha256 = plain["sha256"]
    if sha256 is not None and not (isinstance(sha256, str) and sha256.isalnum()):
        raise ValueError("no hash")
    return Version(plain["path"], plain["version"], sha256, plain["mode"], plain["tool"], plain["call"])


def _plain(version: Version) -> dict[str, Any]:
    return {
        "path": version.path,
        "version": version.number,
        "sha256": version.sha256,
        "mode": version.mode,
        "tool": version.tool,
        "call": version.seq,
    }


def _sha256(data: bytes) -> str:
    import hashlib  # OpenSSL's start-up is not the host's

    return hashlib.sha256(data, usedforsecurity=False).hexdigest()

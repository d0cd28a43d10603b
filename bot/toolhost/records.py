"""Which files the model was shown in this run, in which bytes.

A view, an own write, and a search or a command that names the file all count. What was shown is logged in a folder of
the run, so that a new tool host of the same run knows it.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

_LOG = "shown.jsonl"


class Record(NamedTuple):
    """A file as last shown. `sha256` is the hash of its bytes then, empty if only a search or a command showed it.
    `seen` counts the lines from its top that a view showed, of `total`."""

    sha256: str = ""
    seen: int = 0
    total: int = 0

    @property
    def complete(self) -> bool:
        return self.seen >= self.total


class Records:
    """The records of one agent, by the path of a file after all links. Without a `folder` they are not logged."""

    def __init__(self, folder: Path | None = None, agent: str = "") -> None:
        self._log = folder / _LOG if folder else None
        self._agent = agent
        self._records: dict[Path, Record] = {}
        self._read_log()

    def get(self, path: Path) -> Record | None:
        return self._records.get(path)

    def show(self, path: Path, sha256: str, lines: tuple[int, int], total: int) -> None:
        """Record that the first to the last of `lines` were viewed, of `total` in a file with this hash."""
        old = self._records.get(path, Record())
        seen = old.seen if old.sha256 == sha256 else 0
        first, last = lines
        self._set(path, Record(sha256, max(seen, last) if first <= seen + 1 else seen, total))

    def mention(self, path: Path) -> None:
        """Record that something of a file was shown, in bytes that are not known."""
        if path not in self._records:
            self._set(path, Record())

    def wrote(self, path: Path, sha256: str, total: int) -> None:
        """Record a write by the model of a file that has `total` lines now. They count as seen unless only a part of
        the old ones was."""
        old = self._records.get(path, Record())
        self._set(path, Record(sha256, total if old.complete else min(old.seen, total - 1), total))

    def move(self, source: Path, path: Path) -> None:
        """Let the record of `source`, if there is one, be that of `path`."""
        record = self._records.get(source)
        self.forget(source)
        if record is not None:
            self._set(path, record)

    def forget(self, path: Path) -> None:
        """Forget a file that was deleted or moved."""
        if path in self._records:
            self._set(path, None)

    def _keep(self, path: Path, record: Record | None) -> None:
        if record is None:
            self._records.pop(path, None)
        else:
            self._records[path] = record

    def _set(self, path: Path, record: Record | None) -> None:
        self._keep(path, record)
        if self._log is None:
            return
        line = json.dumps([self._agent, str(path), record])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            contextlib.suppress(OSError),  # a full disk: a new host asks for another view then
            open(os.open(self._log, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as log,
        ):
            log.write(line + "\n")

    def _read_log(self) -> None:
        """Take what an earlier tool host logged. Commands can write in the folder: damaged lines are skipped."""
        if self._log is None:
            return
        with contextlib.suppress(FileNotFoundError):
            for line in self._log.read_text("utf-8", "surrogateescape").splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    agent, path, fields = json.loads(line)
                    if agent == self._agent:
                        self._keep(Path(path), Record(*fields) if fields else None)

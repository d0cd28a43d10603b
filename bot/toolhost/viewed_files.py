"""Which files the model was shown in this run, in which bytes.

A view, an own write, and a search or a command that names the file all count. What was shown is logged in a folder of
the run, so that a new tool host of the same run knows it.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

_LOG = "shown.jsonl"


class Records:
    """By the path of a file after all links. Without a `folder` they are not logged."""

    def __init__(self, folder: Path | None = None) -> None:
        self._log = folder / _LOG if folder else None
        self._shown: dict[Path, str] = {}
        self._read_log()

    def get(self, path: Path) -> str | None:
        """The hash of the file's bytes as last shown, empty if only a search or a command showed it; `None` if nothing
        of it was shown."""
        return self._shown.get(path)

    def show(self, path: Path, sha256: str | None) -> None:
        """Record a view of a file with this hash, or a write by the model; `None` forgets a file that is gone."""
        self._keep(path, sha256)
        if self._log is None:
            return
        line = json.dumps([str(path), sha256])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            contextlib.suppress(OSError),  # a full disk: a new host asks for another view then
            open(os.open(self._log, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as log,
        ):
            log.write(line + "\n")

    def mention(self, path: Path) -> None:
        """Record that something of a file was shown, in bytes that are not known."""
        if path not in self._shown:
            self.show(path, "")

    def _keep(self, path: Path, sha256: str | None) -> None:
        if sha256 is None:
            self._shown.pop(path, None)
        else:
            self._shown[path] = sha256

    def _read_log(self) -> None:
        """Take what an earlier tool host logged. Commands can write in the folder: damaged lines are skipped."""
        if self._log is None:
            return
        with contextlib.suppress(FileNotFoundError):
            for line in self._log.read_text("utf-8", "surrogateescape").splitlines():
                with contextlib.suppress(ValueError, TypeError):
                    path, sha256 = json.loads(line)
                    self._keep(Path(path), sha256)

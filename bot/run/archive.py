"""Files that the supervisor keeps for the model to look up: transcripts of what was summed up. Read-only inside."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


class Archive:
    """`folder` is shown to the workshop at its own path; `redact` masks what must not be kept anywhere."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self._folder = folder
        self._redact = redact
        self._number = 0

    def __call__(self, text: str) -> str:
        """Keep `text`, and say where; empty where the disk takes no more: a summary without its transcript is
        better than none."""
        self._number += 1
        path = self._folder / f"transcript-{self._number}.txt"
        data = self._redact(text).encode("utf-8", "replace")
        try:
            descriptor = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            with open(descriptor, "wb") as file:
                file.write(data)
        except OSError:
            return ""
        return str(path)

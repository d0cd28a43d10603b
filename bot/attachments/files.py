"""Fetch attached files other than pictures and write them, as they are, where the model can read them.

Nothing unpacks an archive here: the model does so with a command in its own sandbox.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from pathlib import Path

from bot.attachments.fetch import Fetcher, Omitted, file_name
from bot.contracts.journal import AttachedFile
from bot.contracts.plain_text import quoted

MAX_ATTACHED = 8

_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


class AttachedFiles:
    """The attached files of one run. `folder` is mounted read-only in the agent's sandbox."""

    def __init__(self, folder: Path, fetcher: Fetcher) -> None:
        self.files: list[AttachedFile] = []
        self._folder = folder
        self._fetcher = fetcher
        self._addresses: set[str] = set()

    def add(self, address: str, location: str) -> None:
        """Fetch the file at `address`; `location` names the text that links it. Raises `Omitted`."""
        if address in self._addresses:
            return
        if len(self.files) >= MAX_ATTACHED:
            raise Omitted(f"there is room for {MAX_ATTACHED}")
        begun, name = time.monotonic(), file_name(address)
        data = self._fetcher.get(address)
        # A folder of its own, so that two files may have the same name.
        path = (
            self._folder / str(len(self.files) + 1) / (_UNUSUAL.sub("_", name)[-100:].lstrip(".") or "file")
        )
        _write(path, data)
        self._addresses.add(address)
        digest = hashlib.sha256(data).hexdigest()
        seconds = time.monotonic() - begun
        self.files.append(AttachedFile(name, location, len(data), digest, str(path), seconds))


def file_line(file: AttachedFile) -> str:
    """Return a line for the model. The name is untrusted."""
    return f"{quoted(file.name)}, {file.size:,} bytes, in {file.place}: {file.path}"


def _write(path: Path, content: bytes) -> None:
    """Write into a new folder that nobody else writes in, so that no link in it can lead elsewhere."""
    try:
        path.parent.mkdir(mode=0o700, parents=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
    except OSError as error:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise Omitted(f"it could not be written ({error.strerror})") from error

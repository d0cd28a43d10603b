"""Attached files other than pictures: fetched, unpacked, and written where the model can read them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from pathlib import Path

from bot.attachments.confined import RejectedFile
from bot.attachments.fetch import Fetcher, file_name
from bot.attachments.unpack import Unpack
from bot.contracts.journal import AttachedFile
from bot.contracts.plain_text import quoted

MAX_FILES = 8
MAX_BYTES = 128 * 1024 * 1024
"""Unpacked bytes in one run."""

_MAX_LISTED = 20
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


class AttachedFiles:
    """The attached files of one run. `folder` is mounted read-only in the agent's sandbox."""

    def __init__(self, folder: Path, fetcher: Fetcher, unpack: Unpack) -> None:
        self.files: list[AttachedFile] = []
        self._folder = folder
        self._fetcher = fetcher
        self._unpack = unpack
        self._addresses: set[str] = set()
        self._bytes_left = MAX_BYTES

    def add(self, address: str, location: str) -> None:
        """Fetch the file at `address`; `location` names the text that links it. Raises `FetchError` or
        `RejectedFile`."""
        if address in self._addresses:
            return
        if len(self.files) >= MAX_FILES:
            raise RejectedFile(f"there is room for {MAX_FILES}")
        begun, name = time.monotonic(), file_name(address)
        data = self._fetcher.get(address)
        files, left = self._unpack(data, _UNUSUAL.sub("_", name)[-100:])
        path = self._folder / str(len(self.files) + 1)
        self._write(path, files)
        self._addresses.add(address)
        self.files.append(
            AttachedFile(
                name,
                location,
                len(data),
                hashlib.sha256(data).hexdigest(),
                str(path),
                tuple((inner, len(content)) for inner, content in files.items()),
                left,
                time.monotonic() - begun,
            )
        )

    def _write(self, folder: Path, files: dict[str, bytes]) -> None:
        """Write into a new folder that nobody else writes in, so that no link in it can lead elsewhere."""
        self._bytes_left -= (size := sum(map(len, files.values())))
        if self._bytes_left < 0:
            self._bytes_left += size
            raise RejectedFile(f"all together are over {MAX_BYTES // (1024 * 1024)} MB")
        try:
            folder.mkdir(mode=0o700, parents=True)
            for path, content in files.items():
                _write(folder / path, content)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise RejectedFile(f"it could not be written ({error.strerror})") from error


def file_line(file: AttachedFile) -> str:
    """Return a line for the model. The names are untrusted."""
    about = f"{quoted(file.name)}, {file.size:,} bytes, in {file.place}: in {file.path}/"
    inner = ", ".join(f"{quoted(path)} ({size:,} bytes)" for path, size in file.files[:_MAX_LISTED])
    more = f" and {len(file.files) - _MAX_LISTED} more" if len(file.files) > _MAX_LISTED else ""
    left = f". Left out: {'; '.join(file.left[:_MAX_LISTED])}" if file.left else ""
    unnamed = f" and {len(file.left) - _MAX_LISTED} more" if len(file.left) > _MAX_LISTED else ""
    return f"{about} {inner or 'nothing'}{more}{left}{unnamed}"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)

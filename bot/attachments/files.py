"""Attached files other than pictures: fetch them, unpack them in the sandbox, and write them where the model can read
them.

`read_inside.py` unpacks an archive or reads a PDF's text in the sandbox; its output is validated here.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.attachments import read_inside
from bot.attachments.confined import MALFORMED, ConfinedReader, RejectedFile, split_output
from bot.attachments.fetch import Fetcher, file_name
from bot.contracts.journal import AttachedFile
from bot.contracts.plain_text import quoted

MAX_ATTACHED = 8
MAX_RUN_BYTES = 128 * 1024 * 1024
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
        self._bytes_left = MAX_RUN_BYTES

    def add(self, address: str, location: str) -> None:
        """Fetch the file at `address`; `location` names the text that links it. Raises `FetchError` or
        `RejectedFile`."""
        if address in self._addresses:
            return
        if len(self.files) >= MAX_ATTACHED:
            raise RejectedFile(f"there is room for {MAX_ATTACHED}")
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
            raise RejectedFile(f"all together are over {MAX_RUN_BYTES // (1024 * 1024)} MB")
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


_MAX_HEAD = 4 * 1024 * 1024
_REASONS = {
    "encrypted": "it is encrypted",
    "outside": "its path leads out of the archive",
    "path": "its path is too long or odd",
    "link": "it is a link",
    "special": "it is not a regular file",
    "twice": "another file is at its path",
    "damaged": "it is damaged, or packed in an unknown way",
    "files": f"it holds more than {read_inside.MAX_FILES:,} files",
    "size": f"it unpacks to more than {read_inside.MAX_BYTES // (1024 * 1024)} MB",
    "ratio": f"it unpacks to more than {read_inside.MAX_RATIO} times its size",
}


class Unpacked(NamedTuple):
    """The files of an archive by path, and for each omitted one a clause with its name and the reason."""

    files: dict[str, bytes]
    left: tuple[str, ...] = ()


Unpack = Callable[[bytes, str], Unpacked]


def kind_of(data: bytes) -> str:
    """Return the kind of archive, or `pdf`, by the first bytes; empty for neither."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith((b"PK\3\4", b"PK\5\6")):
        return "zip"
    if data.startswith(b"\x1f\x8b"):
        return "gzip"
    return "tar" if data[257:262] == b"ustar" else ""


class Unpacker(ConfinedReader):
    """Unpacks archives in the sandbox."""

    def __call__(self, data: bytes, name: str) -> Unpacked:
        """Return the files of `data`; if it is no archive, itself as `name`, and for a PDF also its text.
        Raises `RejectedFile`."""
        kind = kind_of(data)
        if kind == "pdf":
            return self._with_text(data, name)
        return self._unpack(data, kind, name.removesuffix(".gz")) if kind else Unpacked({name: data})

    def _with_text(self, data: bytes, name: str) -> Unpacked:
        spec = find_spec("pypdf")  # never imported: no PDF is read outside the sandbox
        try:
            if spec is None or spec.origin is None:
                raise RejectedFile("pypdf, which reads it, is not installed")
            text = self._unpack(data, "pdf", f"{name}.txt", Path(spec.origin).resolve().parent)
        except RejectedFile as error:
            return Unpacked({name: data}, (f"its text: {error}",))
        return Unpacked({name: data, **text.files}, text.left)

    def _unpack(self, data: bytes, kind: str, name: str, *packages: Path) -> Unpacked:
        if not self.confinement.confines:
            raise RejectedFile("there is no sandbox to unpack it in")
        arguments = (kind, name, *map(str, packages))
        return _parse_output(self.run(arguments, packages, data, _MAX_HEAD + read_inside.MAX_BYTES))


def _parse_output(output: bytes) -> Unpacked:
    """Validate the output: only valid paths, sizes and known reason codes are accepted."""
    try:
        fields, data = split_output(output, _MAX_HEAD, _REASONS)
        files, offset = {}, 0
        for path, size in fields["files"]:
            if read_inside.path_problem(path) or not 0 <= size <= len(data) - offset:
                raise RejectedFile(_REASONS["damaged"])
            files[path] = data[offset : offset + size]
            offset += size
        left = tuple(
            f"{quoted(path, read_inside.MAX_PATH)}: {_REASONS[reason]}" for path, reason in fields["left"]
        )
    except MALFORMED as error:
        raise RejectedFile(_REASONS["damaged"]) from error
    if len(files) + len(left) > read_inside.MAX_FILES or not offset == len(data) <= read_inside.MAX_BYTES:
        raise RejectedFile(_REASONS["damaged"])
    return Unpacked(files, left)

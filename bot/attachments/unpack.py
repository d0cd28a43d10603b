"""Unpack an archive, or read a PDF's text, in the sandbox with `unpack_inside.py`, and validate its output."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.attachments.confined import Program, RejectedFile, run_confined
from bot.attachments.unpack_inside import (
    MAX_BYTES,
    MAX_FILES,
    MAX_PATH,
    MAX_RATIO,
    path_problem,
)
from bot.contracts.plain_text import quoted
from bot.workspace.sandbox.confinement import Confinement

SECONDS = 30.0
_MAX_HEAD = 4 * 1024 * 1024
_PROGRAM = Path(__file__).resolve().with_name("unpack_inside.py")
_REASONS = {
    "encrypted": "it is encrypted",
    "outside": "its path leads out of the archive",
    "path": "its path is too long or odd",
    "link": "it is a link",
    "special": "it is no regular file",
    "twice": "another file is at its path",
    "damaged": "it is damaged, or packed in an unknown way",
    "files": f"it holds more than {MAX_FILES:,} files",
    "size": f"it unpacks to more than {MAX_BYTES // (1024 * 1024)} MB",
    "ratio": f"it unpacks to more than {MAX_RATIO} times its size",
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


class Unpacker:
    """`folder` is empty and used only here: it replaces the work tree of the process."""

    def __init__(self, confinement: Confinement, folder: Path, seconds: float = SECONDS) -> None:
        self._confinement = confinement
        self._folder = folder
        self._seconds = seconds

    def __call__(self, data: bytes, name: str) -> Unpacked:
        """Return the files of `data`; if it is no archive, itself as `name`, and for a PDF also its text.
        Raises `RejectedFile`."""
        kind = kind_of(data)
        if kind == "pdf":
            return self._with_text(data, name)
        return self._run(data, kind, name.removesuffix(".gz")) if kind else Unpacked({name: data})

    def _with_text(self, data: bytes, name: str) -> Unpacked:
        try:
            text = self._run(data, "pdf", f"{name}.txt")
        except RejectedFile as error:
            return Unpacked({name: data}, (f"its text: {error}",))
        return Unpacked({name: data, **text.files}, text.left)

    def _run(self, data: bytes, kind: str, name: str) -> Unpacked:
        if not self._confinement.confines:
            raise RejectedFile("there is no sandbox to unpack it in")
        reader = _pypdf() if kind == "pdf" else None
        if kind == "pdf" and reader is None:
            raise RejectedFile("pypdf, which reads it, is not installed")
        argv = (str(_PROGRAM), kind, name, *([str(reader)] if reader else []))
        parts = tuple((part, str(part)) for part in (_PROGRAM, reader) if part)
        program = Program(argv, parts, _MAX_HEAD + MAX_BYTES, self._seconds)
        return _parse_output(run_confined(self._confinement, self._folder, program, data))


def _pypdf() -> Path | None:
    """Return pypdf's folder. It is never imported: no PDF is read outside the sandbox."""
    spec = find_spec("pypdf")
    return Path(spec.origin).resolve().parent if spec and spec.origin else None


def _parse_output(output: bytes) -> Unpacked:
    """Validate the output, which is as hostile as the archive: only valid paths, sizes and known reason codes
    are accepted."""
    head, _, data = output.partition(b"\n")
    try:
        fields = json.loads(head[:_MAX_HEAD] or b"{}")
        if "no" in fields:
            raise RejectedFile(_REASONS.get(fields["no"], _REASONS["damaged"]))
        files, offset = {}, 0
        for path, size in fields["files"]:
            if path_problem(path) or not 0 <= size <= len(data) - offset:
                raise RejectedFile(_REASONS["damaged"])
            files[path] = data[offset : offset + size]
            offset += size
        left = tuple(f"{quoted(path, MAX_PATH)}: {_REASONS[reason]}" for path, reason in fields["left"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedFile(_REASONS["damaged"]) from error
    if len(files) + len(left) > MAX_FILES or not offset == len(data) <= MAX_BYTES:
        raise RejectedFile(_REASONS["damaged"])
    return Unpacked(files, left)

"""Decode and redraw a picture in the sandbox with `redraw_inside.py`, in a process without keys.

The process is as hostile as the picture: its output is limited and validated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.attachments.confined import Program, RejectedFile, run_confined
from bot.workspace.sandbox.confinement import Confinement

MAX_OUTPUT = 2 * 1024 * 1024
SECONDS = 30.0
_PROGRAM = Path(__file__).resolve().with_name("redraw_inside.py")
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_REASONS = {
    "kind": "it is no PNG, JPEG, GIF or WebP",
    "pixels": "it has more pixels than are decoded here",
    "broken": "it is broken or cut off",
}


class RedrawnPicture(NamedTuple):
    """A redrawn picture. `animated`: it is the first frame of several."""

    media_type: str
    data: bytes
    width: int
    height: int
    animated: bool = False


Redraw = Callable[[bytes], RedrawnPicture]


def kind_of(data: bytes) -> str:
    """Return the picture format by the first bytes, independent of the server's type; empty for an unsupported
    one."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


class Redrawer:
    """`folder` is empty and used only here: it replaces the work tree of the process. Raises `RejectedFile`."""

    def __init__(self, confinement: Confinement, folder: Path, seconds: float = SECONDS) -> None:
        self._confinement = confinement
        self._folder = folder
        self._seconds = seconds

    def __call__(self, data: bytes) -> RedrawnPicture:
        kind = kind_of(data)
        if not kind:
            raise RejectedFile(_REASONS["kind"])
        if not self._confinement.confines:
            raise RejectedFile("there is no sandbox to decode it in")
        where = _pillow()
        if where is None:
            raise RejectedFile("Pillow, which decodes it, is not installed")
        return _parse_output(self._run(data, kind, where))

    def _run(self, data: bytes, kind: str, pillow: Path) -> bytes:
        program = Program(
            (str(_PROGRAM), str(pillow), kind), _program_files(pillow), MAX_OUTPUT, self._seconds
        )
        return run_confined(self._confinement, self._folder, program, data)


def _parse_output(output: bytes) -> RedrawnPicture:
    """Validate the output: only its form as a picture is trusted."""
    head, _, data = output.partition(b"\n")
    try:
        fields = json.loads(head[:1000] or b"{}")
        reason = fields.get("no")
        if reason is not None:
            raise RejectedFile(_REASONS.get(reason, _REASONS["broken"]))
        kind, width, height = fields["type"], fields["width"], fields["height"]
        animated = fields["animated"] is True
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RejectedFile(_REASONS["broken"]) from error
    sizes = isinstance(width, int) and isinstance(height, int) and 0 < width < 5000 and 0 < height < 5000
    if not sizes or kind not in _MAGIC or not data.startswith(_MAGIC[kind]):
        raise RejectedFile(_REASONS["broken"])
    return RedrawnPicture(kind, data, width, height, animated)


def _pillow() -> Path | None:
    """Return Pillow's installation folder. It is never imported: no picture is decoded outside the sandbox."""
    spec = find_spec("PIL")
    return Path(spec.origin).resolve().parents[1] if spec and spec.origin else None


def _program_files(pillow: Path) -> tuple[tuple[Path, str], ...]:
    """Return the program, Pillow, and the libraries of its wheels, at their own paths."""
    parts = [_PROGRAM, pillow / "PIL", pillow / "pillow.libs"]
    return tuple((part, str(part)) for part in parts if part.exists())

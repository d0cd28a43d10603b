"""Decode and redraw a picture in the sandbox. The output of `read_inside.py` is validated: it is as hostile as the
picture."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.attachments.confined import MALFORMED, ConfinedReader, RejectedFile, split_output

MAX_OUTPUT = 2 * 1024 * 1024
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_REASONS = {
    "kind": "it is no PNG, JPEG, GIF or WebP",
    "pixels": "it has more pixels than are decoded here",
    "size": "it has more pixels than are decoded here",
    "damaged": "it is broken or cut off",
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


class Redrawer(ConfinedReader):
    """Raises `RejectedFile`."""

    def __call__(self, data: bytes) -> RedrawnPicture:
        kind = kind_of(data)
        if not kind:
            raise RejectedFile(_REASONS["kind"])
        if not self.confinement.confines:
            raise RejectedFile("there is no sandbox to decode it in")
        packages = _pillow()
        if not packages:
            raise RejectedFile("Pillow, which decodes it, is not installed")
        return _parse_output(self.run((kind, "", str(packages[0])), packages, data, MAX_OUTPUT))


def _parse_output(output: bytes) -> RedrawnPicture:
    """Validate the output: only its form as a picture is trusted."""
    try:
        header, data = split_output(output, 1000, _REASONS)
        kind, width, height = header["type"], header["width"], header["height"]
        animated = header["animated"] is True
    except MALFORMED as error:
        raise RejectedFile(_REASONS["damaged"]) from error
    sizes = isinstance(width, int) and isinstance(height, int) and 0 < width < 5000 and 0 < height < 5000
    if not sizes or kind not in _MAGIC or not data.startswith(_MAGIC[kind]):
        raise RejectedFile(_REASONS["damaged"])
    return RedrawnPicture(kind, data, width, height, animated)


def _pillow() -> tuple[Path, ...]:
    """Return the folders of Pillow and of its wheel's libraries. It is never imported: no picture is decoded outside
    the sandbox."""
    spec = find_spec("PIL")
    if spec is None or spec.origin is None:
        return ()
    above = Path(spec.origin).resolve().parents[1]
    return tuple(part for part in (above / "PIL", above / "pillow.libs") if part.exists())

"""Has a picture decoded and drawn anew behind the wall, by `inside.py`, in a process that has no key.

The process is as hostile as the picture: what it says is read within limits and held against what it may say.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.contracts.errors import NoSandboxError
from bot.sandbox.confinement import Confinement, Mounts
from bot.workshop.client import layout
from bot.workshop.client.errors import WorkshopError
from bot.workshop.client.process import HostProcess

MOST_SAID = 2 * 1024 * 1024
SECONDS = 30.0
_PROGRAM = Path(__file__).resolve().with_name("inside.py")
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_WORDS = {
    "kind": "it is no PNG, JPEG, GIF or WebP",
    "pixels": "it has more pixels than are decoded here",
    "broken": "it is broken or cut off",
}


class NotDrawn(Exception):
    """Why not, as a clause."""


class Drawn(NamedTuple):
    """A picture that was drawn here. `animated`: it is the first frame of several."""

    media_type: str
    data: bytes
    width: int
    height: int
    animated: bool = False


Redraw = Callable[[bytes], Drawn]


def kind_of(data: bytes) -> str:
    """What the first bytes say that it is, whatever a server called it; empty for nothing we take."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


class Redrawer:
    """`folder` is empty and this object's own: it stands for the work tree of the process. Raises `NotDrawn`."""

    def __init__(self, confinement: Confinement, folder: Path, seconds: float = SECONDS) -> None:
        self._confinement = confinement
        self._folder = folder
        self._seconds = seconds

    def __call__(self, data: bytes) -> Drawn:
        kind = kind_of(data)
        if not kind:
            raise NotDrawn(_WORDS["kind"])
        if not self._confinement.confines:
            raise NotDrawn("there is no sandbox to decode it in")
        where = _pillow()
        if where is None:
            raise NotDrawn("Pillow, which decodes it, is not installed")
        return _judged(self._run(data, kind, where))

    def _run(self, data: bytes, kind: str, pillow: Path) -> bytes:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        empty = self._folder.resolve()
        mounts = Mounts(empty, str(empty), program=(*layout.host_program(), *_own_program(pillow)))
        python = layout.interpreter()
        argv = [python, "-I", "-S", str(_PROGRAM), str(pillow), kind]
        try:
            process = HostProcess(self._confinement, argv, mounts, {})
            said, given = process.pipes
            try:
                return _exchanged(said, given, data, time.monotonic() + self._seconds)
            finally:
                os.close(said)
                os.close(given)
                process.kill()
        except (WorkshopError, NoSandboxError) as error:
            raise NotDrawn("the sandbox to decode it in did not work") from error


def _exchanged(said: int, given: int, data: bytes, deadline: float) -> bytes:
    """Give it the picture and its length, take what it says until it ends. To hang up would end it."""
    answer, view = bytearray(), memoryview(len(data).to_bytes(8, "big") + data)
    os.set_blocking(said, False)
    os.set_blocking(given, False)
    while True:
        waiting = select.poll()
        waiting.register(said, select.POLLIN)
        if view:
            waiting.register(given, select.POLLOUT)
        ready = dict(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if not ready:
            raise NotDrawn("decoding it took too long")
        if given in ready:
            view = view[_write(given, view) :]
        if said in ready:
            piece = os.read(said, 1 << 18)
            if not piece:
                return bytes(answer)
            answer += piece
            if len(answer) > MOST_SAID:
                raise NotDrawn("what was drawn of it is too large")


def _write(fd: int, view: memoryview) -> int:
    try:
        return os.write(fd, view)
    except BlockingIOError:
        return 0
    except OSError:
        return len(view)  # it ended before it had read all: what it says, or does not, is the answer


def _judged(said: bytes) -> Drawn:
    """What it says is true only in that it has the shape of a picture."""
    head, _, data = said.partition(b"\n")
    try:
        fields = json.loads(head[:1000] or b"{}")
        word = fields.get("no")
        if word is not None:
            raise NotDrawn(_WORDS.get(word, _WORDS["broken"]))
        kind, width, height = fields["type"], fields["width"], fields["height"]
        animated = fields["animated"] is True
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotDrawn(_WORDS["broken"]) from error
    sizes = isinstance(width, int) and isinstance(height, int) and 0 < width < 5000 and 0 < height < 5000
    if not sizes or kind not in _MAGIC or not data.startswith(_MAGIC[kind]):
        raise NotDrawn(_WORDS["broken"])
    return Drawn(kind, data, width, height, animated)


def _pillow() -> Path | None:
    """The folder that Pillow is installed in. It is looked for, never imported: no picture is decoded on this side."""
    spec = find_spec("PIL")
    return Path(spec.origin).resolve().parents[1] if spec and spec.origin else None


def _own_program(pillow: Path) -> tuple[tuple[Path, str], ...]:
    """The program, Pillow, and the libraries that its wheels bring, at their own places."""
    parts = [_PROGRAM, pillow / "PIL", pillow / "pillow.libs"]
    return tuple((part, str(part)) for part in parts if part.exists())

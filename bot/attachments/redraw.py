"""Decode and redraw a picture in the sandbox, in a process without keys, network and files.

The process runs `redraw_inside.py` and is as hostile as the picture: its output is limited and validated here.
"""

import json
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from bot.attachments.fetch import Omitted
from bot.contracts.errors import NoSandboxError
from bot.workspace import start
from bot.workspace.process import Host, WorkspaceError
from bot.workspace.sandbox.confinement import Confinement, Mounts

PROGRAM = Path(__file__).resolve().with_name("redraw_inside.py")
MAX_OUTPUT = 2 * 1024 * 1024
_MAX_HEAD = 1000
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_NO_PICTURE = "it is no PNG, JPEG, GIF or WebP"
_DAMAGED = "it is broken or cut off"
_REASONS = {"pixels": "it has more pixels than are decoded here", "damaged": _DAMAGED}


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


@dataclass
class Redrawer:
    """`folder` is empty and used only here: it replaces the work tree of the process, which may take `seconds`."""

    confinement: Confinement
    folder: Path
    seconds: float = 30.0

    def __call__(self, data: bytes) -> RedrawnPicture:
        """Raises `Omitted`."""
        kind = kind_of(data)
        if not kind:
            raise Omitted(_NO_PICTURE)
        if not self.confinement.confines:
            raise Omitted("there is no sandbox to decode it in")
        packages = _pillow()
        if not packages:
            raise Omitted("Pillow, which decodes it, is not installed")
        return _parse_output(self._run((kind, str(packages[0])), packages, data))

    def _run(self, arguments: tuple[str, ...], packages: tuple[Path, ...], data: bytes) -> bytes:
        """Return the output of the program for `data`, which it reads from standard input after an eight-byte length.
        `packages` are the folders that it may import."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        empty = self.folder.resolve()
        parts = ((part, str(part)) for part in (PROGRAM, *packages))
        mounts = Mounts(empty, str(empty), program=(*start.host_program(), *parts))
        argv = [start.interpreter(), "-I", "-S", str(PROGRAM), *arguments]
        try:
            host = Host(self.confinement, argv, mounts)
            try:
                return _exchange(*host.pipes, data, time.monotonic() + self.seconds)
            finally:
                host.end()
        except (WorkspaceError, NoSandboxError) as error:
            raise Omitted("the sandbox to read it in did not work") from error


def _parse_output(output: bytes) -> RedrawnPicture:
    """Validate the output: only its form as a picture is trusted."""
    head, _, data = output.partition(b"\n")
    try:
        header = json.loads(head[:_MAX_HEAD] or b"{}")
        if "no" in header:
            raise Omitted(_REASONS.get(header["no"], _DAMAGED))
        kind, width, height = header["type"], header["width"], header["height"]
        animated = header["animated"] is True
        is_picture = kind in _MAGIC and data.startswith(_MAGIC[kind])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Omitted(_DAMAGED) from error
    sizes = isinstance(width, int) and isinstance(height, int) and 0 < width < 5000 and 0 < height < 5000
    if not sizes or not is_picture:
        raise Omitted(_DAMAGED)
    return RedrawnPicture(kind, data, width, height, animated)


def _pillow() -> tuple[Path, ...]:
    """Return the folders of Pillow and of its wheel's libraries. It is never imported: no picture is decoded outside
    the sandbox."""
    spec = find_spec("PIL")
    if spec is None or spec.origin is None:
        return ()
    above = Path(spec.origin).resolve().parents[1]
    return tuple(part for part in (above / "PIL", above / "pillow.libs") if part.exists())


def _exchange(output: int, stdin: int, data: bytes, deadline: float) -> bytes:
    """Write the length and the file, read the output until its end. Closing the pipe would end the process."""
    answer, view = bytearray(), memoryview(len(data).to_bytes(8, "big") + data)
    while True:
        poller = select.poll()
        poller.register(output, select.POLLIN)
        if view:
            poller.register(stdin, select.POLLOUT)
        ready = dict(poller.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if not ready:
            raise Omitted("reading it took too long")
        if stdin in ready:
            try:
                view = view[os.write(stdin, view) :]
            except BlockingIOError:
                continue
            except OSError:
                view = view[:0]  # it ended before it had read all: what it says, or does not, is the answer
        if output in ready:
            piece = os.read(output, 1 << 18)
            if not piece:
                return bytes(answer)
            answer += piece
            if len(answer) > MAX_OUTPUT:
                raise Omitted("what came of it is too large")

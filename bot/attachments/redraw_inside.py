"""Runs inside the sandbox, in its own process for each attached picture: decodes and redraws it.

A separate program without a key: it reads the file from standard input after its length, imports only the standard
library and Pillow, and writes nothing to disk. The output is one line of JSON, then the pixels of the first frame as a
picture and nothing else.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

_MIB = 1024 * 1024
_DECODERS = {"png": "Png", "jpeg": "Jpeg", "gif": "Gif", "webp": "WebP"}
MAX_PIXELS = 40_000_000
MAX_INPUT_SIDE = 20_000
# What Anthropic's models take without making it smaller themselves; OpenAI's take more.
MAX_SIDE = 1568
MAX_AREA = 1_150_000
# A picture is in every request of a session: four of these are 3 MB of each.
MAX_PNG = 300 * 1024
MAX_JPEG = 512 * 1024


class _Rejected(Exception):
    """A reason code that the supervisor knows."""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1024 * _MIB, 1024 * _MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (15, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _open(data: bytes, kind: str) -> ImageFile:
    """Open with the one decoder that the first bytes name; no other is tried."""
    name = _DECODERS[kind]
    opened: ImageFile = getattr(import_module(f"PIL.{name}ImagePlugin"), f"{name}ImageFile")(io.BytesIO(data))
    return opened


def _redraw(data: bytes, kind: str) -> tuple[Image, bool]:
    from PIL import Image as images
    from PIL import ImageOps

    opened = _open(data, kind)
    width, height = opened.size
    if width * height > MAX_PIXELS or max(width, height) > MAX_INPUT_SIDE:
        raise _Rejected("pixels")
    animated = bool(getattr(opened, "is_animated", False))
    opened.seek(0)
    scale = min(1.0, MAX_SIDE / max(width, height), (MAX_AREA / (width * height)) ** 0.5)
    if scale < 1 and kind == "jpeg":
        opened.draft("RGB", (max(1, int(width * scale)), max(1, int(height * scale))))
    opened.load()
    image = ImageOps.exif_transpose(opened)
    clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    image = image.convert("RGBA" if clear else "RGB")
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        turned = (image.width > image.height) != (width > height)
        image = image.resize(size[::-1] if turned else size, images.Resampling.LANCZOS)
    # From the pixels alone: no text, no profile, no EXIF comes along.
    return images.frombytes(image.mode, image.size, image.tobytes()), animated


def _encode(image: Image) -> tuple[str, bytes]:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=6)
    if out.tell() <= MAX_PNG:
        return "image/png", out.getvalue()
    from PIL import Image as images

    flat = images.new("RGB", image.size, (255, 255, 255))
    flat.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    for quality in (85, 60, 35):
        out = io.BytesIO()
        flat.save(out, "JPEG", quality=quality)
        if out.tell() <= MAX_JPEG:
            return "image/jpeg", out.getvalue()
    raise _Rejected("pixels")


def answer(data: bytes, kind: str) -> tuple[dict[str, object], bytes]:
    """Return what the supervisor is told of the picture, and its content: a reason and none if it is rejected."""
    try:
        image, animated = _redraw(data, kind)
        media_type, content = _encode(image)
    except _Rejected as reason:
        return {"no": str(reason)}, b""
    except MemoryError:
        return {"no": "pixels"}, b""
    except Exception:  # noqa: BLE001 - whatever a hostile file does to its reader, it is damaged
        return {"no": "damaged"}, b""
    return {"type": media_type, "width": image.width, "height": image.height, "animated": animated}, content


def main() -> None:
    """`sys.argv`: the kind by the first bytes, and the folder of Pillow."""
    _limit()
    kind, folder = sys.argv[1:]
    # By path: what contains the folder has other packages, and cannot be listed in the sandbox.
    name = os.path.basename(folder)
    spec = spec_from_file_location(name, f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    header, content = answer(sys.stdin.buffer.read(size), kind)
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n" + content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

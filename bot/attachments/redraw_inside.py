"""Runs inside the sandbox, in its own process for each picture: decodes and redraws it.

A separate program: it reads the picture from standard input after its length, imports only Pillow and the
standard library, and has no key. The output has the pixels of the first frame and nothing else.
"""

from __future__ import annotations

import io
import json
import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

_MIB = 1024 * 1024
MAX_BYTES = 16 * _MIB
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


def _import_pillow(folder: str) -> None:
    """Import by path: the folder contains other packages, and cannot be listed in the sandbox."""
    folder_path = f"{folder}/PIL"
    spec = spec_from_file_location(
        "PIL", f"{folder_path}/__init__.py", submodule_search_locations=[folder_path]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["PIL"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


def _open(data: bytes, kind: str) -> ImageFile:
    """Open with the one decoder that the first bytes name; no other is tried."""
    file = io.BytesIO(data)
    if kind == "png":
        from PIL.PngImagePlugin import PngImageFile

        return PngImageFile(file)
    if kind == "jpeg":
        from PIL.JpegImagePlugin import JpegImageFile

        return JpegImageFile(file)
    if kind == "gif":
        from PIL.GifImagePlugin import GifImageFile

        return GifImageFile(file)
    if kind == "webp":
        from PIL.WebPImagePlugin import WebPImageFile

        return WebPImageFile(file)
    raise _Rejected("kind")


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
    """Return what the supervisor is told of the picture and the redrawn one: a reason and nothing if it is rejected."""
    try:
        image, animated = _redraw(data, kind)
        media_type, content = _encode(image)
    except _Rejected as reason:
        return {"no": str(reason)}, b""
    except MemoryError:
        return {"no": "pixels"}, b""
    except Exception:  # noqa: BLE001 - whatever a decoder makes of a hostile file, it is no picture
        return {"no": "broken"}, b""
    return {"type": media_type, "width": image.width, "height": image.height, "animated": animated}, content


def main() -> None:
    """`sys.argv`: Pillow's folder, and the kind of picture by its first bytes."""
    _limit()
    _import_pillow(sys.argv[1])
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    header, content = (
        ({"no": "pixels"}, b"") if size > MAX_BYTES else answer(sys.stdin.buffer.read(size), sys.argv[2])
    )
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n" + content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

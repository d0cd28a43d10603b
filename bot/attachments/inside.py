"""Runs behind the wall, in a process of its own for each picture: decodes it and draws it anew.

A program, not a module of the rest: it is given the picture on its standard input, behind its length, imports Pillow
and the standard library alone, and knows no key. What comes out has the pixels of the first frame and nothing else.
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
MOST_BYTES = 16 * _MIB
MOST_PIXELS = 40_000_000
MOST_SIDE = 20_000
# What Anthropic's models take without making it smaller themselves; OpenAI's take more.
LONGEST_SIDE = 1568
LARGEST_AREA = 1_150_000
# A picture is in every request of a session: four of these are 3 MB of each.
AS_PNG = 300 * 1024
LONGEST = 512 * 1024


class _No(Exception):
    """A word that the supervisor knows."""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1024 * _MIB, 1024 * _MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (15, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bring_pillow(folder: str) -> None:
    """By its place: the folder that it is installed in holds other packages, and cannot be listed from in here."""
    place = f"{folder}/PIL"
    spec = spec_from_file_location("PIL", f"{place}/__init__.py", submodule_search_locations=[place])
    assert spec is not None
    assert spec.loader is not None
    sys.modules["PIL"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


def _opened(data: bytes, kind: str) -> ImageFile:
    """By the one decoder that the first bytes call for: no other is asked whether it could be its format too."""
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
    raise _No("kind")


def _drawn(data: bytes, kind: str) -> tuple[Image, bool]:
    from PIL import Image as images
    from PIL import ImageOps

    opened = _opened(data, kind)
    width, height = opened.size
    if width * height > MOST_PIXELS or max(width, height) > MOST_SIDE:
        raise _No("pixels")
    animated = bool(getattr(opened, "is_animated", False))
    opened.seek(0)
    scale = min(1.0, LONGEST_SIDE / max(width, height), (LARGEST_AREA / (width * height)) ** 0.5)
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


def _written(image: Image) -> tuple[str, bytes]:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=6)
    if out.tell() <= AS_PNG:
        return "image/png", out.getvalue()
    from PIL import Image as images

    flat = images.new("RGB", image.size, (255, 255, 255))
    flat.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    for quality in (85, 60, 35):
        out = io.BytesIO()
        flat.save(out, "JPEG", quality=quality)
        if out.tell() <= LONGEST:
            return "image/jpeg", out.getvalue()
    raise _No("pixels")


def main() -> None:
    """`sys.argv`: the folder that Pillow is in, and what the first bytes say the picture is."""
    _limit()
    _bring_pillow(sys.argv[1])
    said: dict[str, object]
    drawn = b""
    try:
        size = int.from_bytes(sys.stdin.buffer.read(8), "big")
        if size > MOST_BYTES:
            raise _No("pixels")
        image, animated = _drawn(sys.stdin.buffer.read(size), sys.argv[2])
        media_type, drawn = _written(image)
        said = {"type": media_type, "width": image.width, "height": image.height, "animated": animated}
    except _No as word:
        said = {"no": str(word)}
    except MemoryError:
        said = {"no": "pixels"}
    except Exception:  # noqa: BLE001 - whatever a decoder makes of a hostile file, it is no picture
        said = {"no": "broken"}
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + drawn)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

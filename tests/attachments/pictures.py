"""Pictures for the tests, good and hostile, made as they are needed."""

import io
import struct
import zlib
from typing import Any

from PIL import Image


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def plain(width: int = 40, height: int = 20, kind: str = "PNG", **options: Any) -> bytes:
    return encoded(Image.new("RGB", (width, height), (200, 30, 30)), kind, **options)


def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    return encoded(Image.effect_noise((width, height), 90).convert("RGB"), kind)


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int, height: int, pixels: bytes, *, between: bytes = b"") -> bytes:
    """By hand, so that what it says of itself need not be true."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + between + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")

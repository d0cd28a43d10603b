"""Runs inside the sandbox, in its own process for each attached file: decodes and redraws a picture, unpacks an archive
in memory, or extracts the text of a PDF.

A separate program without a key: it reads the file from standard input after its length, imports only the standard
library, Pillow for a picture and pypdf for a PDF, and writes nothing to disk. The output is one line of JSON, then the
contents: of a picture the pixels of the first frame and nothing else.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import re
import resource
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

_MIB = 1024 * 1024
MAX_PACKED = 32 * _MIB
_DECODERS = {"png": "Png", "jpeg": "Jpeg", "gif": "Gif", "webp": "WebP"}
MAX_PIXELS = 40_000_000
MAX_INPUT_SIDE = 20_000
# What Anthropic's models take without making it smaller themselves; OpenAI's take more.
MAX_SIDE = 1568
MAX_AREA = 1_150_000
# A picture is in every request of a session: four of these are 3 MB of each.
MAX_PNG = 300 * 1024
MAX_JPEG = 512 * 1024
MAX_BYTES = 48 * _MIB
MAX_FILES = 1_000
_MAX_PAGES = 500
MAX_RATIO = 200
"""Unpacked bytes for each packed one, above a MiB. Logs seldom reach 50."""

MAX_PATH = 250
_DRIVE = re.compile(r"[A-Za-z]:")
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


class _Rejected(Exception):
    """A reason code that the supervisor knows."""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1024 * _MIB, 1024 * _MIB))
    resource.setrlimit(resource.RLIMIT_CPU, (15, 16))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _import(folder: str) -> None:
    """Import by path: what contains the folder has other packages, and cannot be listed in the sandbox."""
    name = os.path.basename(folder)
    spec = spec_from_file_location(name, f"{folder}/__init__.py", submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


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


class _Member(NamedTuple):
    """A file of an archive; `read` returns at most that many bytes. With a `problem`, a reason code, it is
    omitted."""

    path: str
    read: Callable[[int], bytes]
    problem: str = ""


def path_problem(path: str) -> str:
    """Return the reason code why no file is written at `path` below a folder; empty for none."""
    parts = path.split("/")
    if path.startswith("/") or _DRIVE.match(path) or ".." in parts:
        return "outside"
    odd = not path.isprintable() or "\\" in path or any(part in ("", ".") for part in parts)
    return "path" if odd or len(path.encode()) > MAX_PATH else ""


def _in_zip(data: bytes) -> Iterator[_Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            problem = "encrypted" if info.flag_bits & 1 else _kind_problem(kind)

            def read(limit: int, info: zipfile.ZipInfo = info) -> bytes:
                with archive.open(info) as file:
                    return file.read(limit)

            path = info.filename.replace("\\", "/")
            if not path.endswith("/"):
                yield _Member(path, read, problem)


def _kind_problem(kind: int) -> str:
    """Check the type in a file's mode; archives that were not made on Unix have none."""
    if kind == stat.S_IFLNK:
        return "link"
    return "" if kind in (0, stat.S_IFREG) else "special"


def _in_tar(data: bytes) -> Iterator[_Member]:
    """Stricter than the filter `data`: links and special files are omitted, and nothing is extracted."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for info in archive:

            def read(limit: int, info: tarfile.TarInfo = info) -> bytes:
                file = archive.extractfile(info)
                return file.read(limit) if file else b""

            problem = "link" if info.issym() or info.islnk() else "" if info.isreg() else "special"
            if not info.isdir():
                yield _Member(info.name, read, problem)


def _in_gzip(data: bytes, name: str, limit: int) -> Iterator[_Member]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        content = file.read(limit + 1)
    if content[257:262] == b"ustar" and len(content) <= limit:
        return _in_tar(content)
    return iter((_Member(name, lambda count: content[:count]),))


def _in_pdf(data: bytes, name: str, limit: int) -> Iterator[_Member]:
    """Yield the text of all pages as one file."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        yield _Member(name, lambda count: b"", "encrypted")
        return
    content = bytearray()
    for page in reader.pages[:_MAX_PAGES]:
        content += page.extract_text().encode("utf-8", "replace") + b"\n"
        if len(content) > limit:
            break
    yield _Member(name, lambda count: bytes(content[:count]))


def _members(data: bytes, kind: str, name: str, limit: int) -> Iterator[_Member]:
    if kind == "zip":
        return _in_zip(data)
    if kind == "pdf":
        return _in_pdf(data, name, limit)
    return _in_tar(data) if kind == "tar" else _in_gzip(data, name, limit)


def unpack_archive(data: bytes, kind: str, name: str) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """Return the files of an archive, and the omitted ones with their reason codes. `name` is for a single
    compressed file."""
    by_ratio = max(_MIB, MAX_RATIO * len(data))
    limit = bytes_left = min(MAX_BYTES, by_ratio)
    files: dict[str, bytes] = {}
    left: list[tuple[str, str]] = []
    for member in _members(data, kind, name, limit):
        if len(files) + len(left) >= MAX_FILES:
            raise _Rejected("files")
        path = member.path.removeprefix("./")
        problem = member.problem or path_problem(path) or ("twice" if _is_taken(path, files) else "")
        if not problem:
            try:
                content = member.read(bytes_left + 1)
            except _DAMAGED:
                problem = "damaged"
        if problem:
            left.append((path[:MAX_PATH], problem))
            continue
        bytes_left -= len(content)
        if bytes_left < 0:
            raise _Rejected("size" if limit == MAX_BYTES else "ratio")
        files[path] = content
    return files, left


def _is_taken(path: str, files: dict[str, bytes]) -> bool:
    """Whether a file exists already, or a file and a folder have the same path."""
    parts = path.split("/")
    above = any("/".join(parts[:length]) in files for length in range(1, len(parts) + 1))
    return above or any(other.startswith(f"{path}/") for other in files)


def answer(data: bytes, kind: str, name: str = "") -> tuple[dict[str, object], list[bytes]]:
    """Return what the supervisor is told of the file, and the contents: a reason and none if it is rejected."""
    try:
        if kind in _DECODERS:
            image, animated = _redraw(data, kind)
            media_type, content = _encode(image)
            header = {"type": media_type, "width": image.width, "height": image.height, "animated": animated}
            return header, [content]
        files, left = unpack_archive(data, kind, name)
        listed = [[path, len(content)] for path, content in files.items()]
        return {"files": listed, "left": left}, list(files.values())
    except _Rejected as reason:
        return {"no": str(reason)}, []
    except MemoryError:
        return {"no": "size"}, []
    except Exception:  # noqa: BLE001 - whatever a hostile file does to its reader, it is damaged
        return {"no": "damaged"}, []


def main() -> None:
    """`sys.argv`: the kind by the first bytes, the name of a single compressed file or of a text, and the folder of the
    package that reads it, if there is one."""
    _limit()
    kind, name, *packages = sys.argv[1:]
    for folder in packages:
        _import(folder)
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    too_large: tuple[dict[str, object], list[bytes]] = {"no": "size"}, []
    header, contents = too_large if size > MAX_PACKED else answer(sys.stdin.buffer.read(size), kind, name)
    sys.stdout.buffer.write(json.dumps(header).encode() + b"\n")
    for content in contents:
        sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

"""Archives for the tests, good and hostile, made as they are needed."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping


def zipped(files: Mapping[str, bytes], kind: int = stat.S_IFREG) -> bytes:
    """`kind` is the file type that the archive gives its files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = (kind | 0o644) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()


def encrypted(files: Mapping[str, bytes]) -> bytes:
    """A zip whose flags say that its files are encrypted."""
    data = bytearray(zipped(files))
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = data.find(mark)
        while place >= 0:
            data[place + flags] |= 1
            place = data.find(mark, place + 4)
    return bytes(data)


def tarred(*members: tuple[str, bytes, bytes], mode: str = "w:gz") -> bytes:
    """Each with its name, its type (of `tarfile`), and its content, which is where a link leads."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]  # a mode is a literal
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                info.linkname = content.decode()
                archive.addfile(info)
    return buffer.getvalue()


def pdf(text: str) -> bytes:
    """A PDF of one page."""
    content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 << /Type "
            b"/Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    ]
    data, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(data)
    data += b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(data + b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start)

"""A package index of two packages, for `tests.support.tls.tls_server`."""

from __future__ import annotations

import hashlib
import io
import ssl
import tarfile
import zipfile


def a_wheel() -> bytes:
    """The package `tidyhello` 1.0."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as wheel:
        wheel.writestr("tidyhello.py", "GREETING = 'hello from the registry'\n")
        wheel.writestr(
            "tidyhello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tidyhello\nVersion: 1.0\n"
        )
        wheel.writestr(
            "tidyhello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(
            "tidyhello-1.0.dist-info/RECORD",
            "tidyhello.py,,\ntidyhello-1.0.dist-info/METADATA,,\ntidyhello-1.0.dist-info/WHEEL,,\n"
            "tidyhello-1.0.dist-info/RECORD,,\n",
        )
    return data.getvalue()


def a_source() -> bytes:
    """The package `tidyevil` 1.0, whose own build leaves a canary wherever it is run."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in {
            "PKG-INFO": "Metadata-Version: 2.1\nName: tidyevil\nVersion: 1.0\n",
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n',
            "evil.py": "open('/tmp/canary', 'w').write('ran')\n",
        }.items():
            entry = tarfile.TarInfo(f"tidyevil-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def registry(connection: ssl.SSLSocket) -> None:
    """An index of `tidyhello`, a wheel, and `tidyevil`, which is there as source alone."""
    wheel, source = ("tidyhello-1.0-py3-none-any.whl", a_wheel()), ("tidyevil-1.0.tar.gz", a_source())
    served = {f"/files/{name}": ("application/octet-stream", data) for name, data in (wheel, source)}
    for package, (name, data) in {"tidyhello": wheel, "tidyevil": source}.items():
        link = f'<a href="/files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
        served[f"/simple/{package}/"] = ("text/html", link.encode())
    buffer = b""
    while data := connection.recv(65536):
        buffer += data
        while b"\r\n\r\n" in buffer:
            head, _, buffer = buffer.partition(b"\r\n\r\n")
            kind, body = served.get(head.split(b" ")[1].decode(), ("text/plain", b"nothing here"))
            answer = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(answer.encode() + body)

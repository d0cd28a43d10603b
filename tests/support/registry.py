"""A package index of one package, `tidyhello`, for `tests.support.tls.tls_server`."""

from __future__ import annotations

import hashlib
import io
import ssl
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


def registry(connection: ssl.SSLSocket) -> None:
    """A package index of one package."""
    wheel = a_wheel()
    name = "tidyhello-1.0-py3-none-any.whl"
    link = f'<a href="/files/{name}#sha256={hashlib.sha256(wheel).hexdigest()}">{name}</a>'.encode()
    asked = b""
    while data := connection.recv(65536):
        asked += data
        while b"\r\n\r\n" in asked:
            head, _, asked = asked.partition(b"\r\n\r\n")
            path = head.split(b" ")[1]
            kind, body = ("text/html", link) if path == b"/simple/tidyhello/" else ("application/zip", wheel)
            answer = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(answer.encode() + body)

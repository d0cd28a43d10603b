"""A package index of two packages."""

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.loopback import Handler


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


class Registry(Handler):
    """An index of `tidyhello`, a wheel, and `tidyevil`, which is there as source alone."""

    def do_GET(self) -> None:
        wheel, source = ("tidyhello-1.0-py3-none-any.whl", a_wheel()), ("tidyevil-1.0.tar.gz", a_source())
        served = {f"/files/{name}": ("application/octet-stream", data) for name, data in (wheel, source)}
        for package, (name, data) in {"tidyhello": wheel, "tidyevil": source}.items():
            link = f'<a href="/files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
            served[f"/simple/{package}/"] = ("text/html", link.encode())
        kind, body = served.get(self.path, ("text/plain", b"nothing here"))
        self.answer(200, body, {"Content-Type": kind})


def name_mirror(patch: pytest.MonkeyPatch, host: str, port: int, authority: Path) -> dict[str, str]:
    """`host` is this machine from now on; the environment that names it as the workflow's mirror of packages."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ("127.0.0.1",)

    patch.setattr("bot.workspace.egress.proxy.system_addresses", resolve)
    mirrors = f"python=https://{host}:{port}/simple"
    return {"SSL_CERT_FILE": str(authority), "SLASH_AGENT_MIRRORS": mirrors}

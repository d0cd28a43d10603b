"""Things planted outside the sandbox that nobody inside may reach: a file, a listener, a folder.

Each is tried from here first: a canary that does not sing in the open proves nothing.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.contracts.errors import NoSandboxError


@dataclass(frozen=True, slots=True)
class Canaries:
    file: Path
    port: int
    outside: Path

    def message(self) -> dict[str, Any]:
        """As `protocol.md` has it in `hello`."""
        return {"files": [str(self.file)], "port": self.port, "outside": str(self.outside)}


@contextmanager
def planted(folder: Path) -> Iterator[Canaries]:
    """Plant them in the new folder `folder`. Raises `NoSandboxError` when one is out of reach from here."""
    try:
        folder.mkdir(mode=0o700)
        with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
            canaries = Canaries(folder / "secret", listener.getsockname()[1], folder)
            canaries.file.write_text(os.urandom(16).hex())
            _try(canaries)
            yield canaries
    except OSError as error:
        raise NoSandboxError(f"The sandbox could not be probed: {error}.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # nothing in it matters once the probe is over


def _try(canaries: Canaries) -> None:
    canaries.file.read_text()
    (canaries.outside / "written-from-outside").touch()
    socket.create_connection(("127.0.0.1", canaries.port), timeout=2).close()

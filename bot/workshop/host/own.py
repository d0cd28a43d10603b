"""The programs that this process started itself and waits for. Whoever ends or reaps what lost its parent leaves them
alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

_lock = threading.Lock()
_begun: list[subprocess.Popen[bytes]] = []


def start(argv: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """As `subprocess.Popen`. Raises `OSError`."""
    import subprocess  # most runs of the host that only read have no use for it

    with _lock:  # around the fork as well: until it is noted it looks like an orphan
        process = subprocess.Popen(argv, **how)
        _begun.append(process)
        return process


@contextlib.contextmanager
def none_starts() -> Iterator[frozenset[int]]:
    """Meanwhile; the ids of those that nobody has waited for yet. Of the others the system may give the ids anew."""
    with _lock:
        _begun[:] = [process for process in _begun if process.returncode is None]
        yield frozenset(process.pid for process in _begun)

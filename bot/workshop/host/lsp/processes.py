"""A server's process: started in a group of its own, its last words kept, ended with all that it started."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bot.contracts.wording import signal_name
from bot.workshop.host import descendants, usage

KEPT = 8192
"""Bytes of standard error that are kept: the last."""


def spawn(argv: Sequence[str], root: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Raises `OSError`. Servers fork (tsserver, biome), so each has a session of its own, which can be killed."""
    return subprocess.Popen(
        argv,
        cwd=root,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def memory(pid: int) -> int:
    """Bytes that a process and all below it hold, a shared page counted once; 0 when it is gone."""
    return usage.fairly_held([pid, *descendants.below(pid)])


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it, its group, and what left the group; returns without waiting for the kernel to be done."""
    left = below(process)
    with contextlib.suppress(PermissionError):
        descendants.signal_group(process.pid, signal.SIGKILL)
    end_all(left)
    process.poll()


def below(process: subprocess.Popen[bytes]) -> list[int]:
    """What it started and what that started, as long as it runs."""
    return list(descendants.below(process.pid)) if process.poll() is None else []


def end_all(pids: Iterable[int]) -> None:
    with contextlib.suppress(PermissionError):
        descendants.kill(pids)


class LastWords:
    """The end of what was written to standard error."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._held = bytearray()

    def add(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > 2 * self._most:
            del self._held[: -self._most]

    @property
    def text(self) -> str:
        return bytes(self._held[-self._most :]).decode("utf-8", "replace")


def exit_words(process: subprocess.Popen[bytes]) -> str:
    """How it ended, for people."""
    code = process.poll()
    if code is None:
        return "it closed its standard output"
    if code < 0:
        return f"it was ended by {signal_name(-code)}"
    return f"it ended with exit code {code}"

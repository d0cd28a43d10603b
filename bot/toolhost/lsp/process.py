"""How a language server process is configured, started in a process group of its own, limited and killed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.contracts.evidence import Answer, Problem
from bot.contracts.formatting import signal_name
from bot.toolhost import descendants, usage
from bot.toolhost.lsp.codecs import Codec, LspCodec

_STDERR_LIMIT = 8192
"""Bytes of standard error that are kept: the last."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """All in seconds, except `refreshes`, which is a count."""

    start: float = 30.0
    """For the answer to `initialize`."""

    answer: float = 15.0
    """For an answer, whether or not a caller still waits for it, and for a server's first."""

    loading: float = 120.0
    """For an answer while the server reports that it loads the project: TypeScript 5 takes 10 s for a small one on a
    slow machine, and reports nothing before that."""

    registration: float = 0.5
    """After `initialized`, for a server that registers pull diagnostics only then."""

    refresh: float = 0.03
    """After an answer, for a refresh request that makes it stale."""

    refreshes: int = 3

    versioned: float = 0.15
    unversioned: float = 0.4
    first_open: float = 1.0
    """Of silence after a publication that names a version, names none, or is the first of a file."""

    stale_progress: float = 10.0
    """After it a progress token without news is ignored."""

    stop: float = 2.0
    """For `shutdown` and `exit`; then the process is killed."""


@dataclass(frozen=True, slots=True)
class TrafficLimits:
    """A server over one of them is killed. All in bytes, except `messages`, which is a count."""

    message: int = 8 << 20
    """One message of the server."""

    received: int = 128 << 20
    messages: int = 50_000
    """What a server may send between two messages of ours."""

    unread: int = 16 << 20
    """What may be buffered for a server that does not read."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A server to start. Paths are relative to `root`; `project` is the folder that it works on, `root` where it is
    None. `environment` is complete. `settings` answer `workspace/configuration` by their dotted names, `options` go
    with `initialize`. `codec` takes the limit of a message in bytes. `spawn` raises `OSError`."""

    name: str
    argv: tuple[str, ...]
    root: Path
    environment: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    options: object = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: TrafficLimits = field(default_factory=TrafficLimits)
    project: Path | None = None
    codec: Callable[[int], Codec] = LspCodec
    spawn: Callable[[ServerConfig], subprocess.Popen[bytes]] = field(
        default=lambda config: spawn(config.argv, config.folder, config.environment)
    )

    @property
    def folder(self) -> Path:
        return self.project or self.root


@dataclass(frozen=True, slots=True)
class FileDiagnostics:
    """A server's result for one file. `items` are its errors and warnings in the order of lines, empty unless the
    answer is complete; `dropped` counts those over the limit. `note` says why an answer is not complete."""

    answer: Answer
    items: tuple[Problem, ...] = ()
    note: str = ""
    dropped: int = 0


def spawn(argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Raises `OSError`. Servers fork (tsserver, biome), so each has a session of its own, which can be killed."""
    return subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def memory(pid: int) -> int:
    """Bytes that a process and its descendants hold, a shared page counted once; 0 when it has ended."""
    return usage.proportional_memory([pid, *descendants.below(pid)])


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill it, its group and its descendants outside the group; return without waiting for the kernel."""
    pids = running_descendants(process)
    with contextlib.suppress(PermissionError):
        descendants.signal_group(process.pid, signal.SIGKILL)
    kill_all(pids)
    process.poll()


def running_descendants(process: subprocess.Popen[bytes]) -> list[int]:
    """Empty once the process has ended."""
    return list(descendants.below(process.pid)) if process.poll() is None else []


def kill_all(pids: Iterable[int]) -> None:
    with contextlib.suppress(PermissionError):
        descendants.kill(pids)


class StderrTail:
    """The last bytes that were written to standard error."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def add(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > 2 * _STDERR_LIMIT:
            del self._buffer[:-_STDERR_LIMIT]

    @property
    def text(self) -> str:
        return bytes(self._buffer[-_STDERR_LIMIT:]).decode("utf-8", "replace")


def exit_reason(process: subprocess.Popen[bytes]) -> str:
    """How it ended, as a clause for people."""
    code = process.poll()
    if code is None:
        return "it closed its standard output"
    if code < 0:
        return f"it was ended by {signal_name(-code)}"
    return f"it ended with exit code {code}"

"""The limits in words for the model: which one a command reached, and what to do next."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from bot.workshop.host.limits import GIB, MIB, Limits, Over

_NEXT = {
    "memory": "Do less at once: fewer workers, one part after the other, a smaller input",
    "processes": "Start fewer at once (-j 2, --maxWorkers=2), and look for one that starts itself again and again",
    "disk": "Delete what is not needed (du -sh * shows what is large), then write less",
    "file": "Write less, or in parts",
    "open_files": "Close files, or work with fewer at once",
    "tmpfs": "Delete what is there, or write to $TMPDIR",
}

_SIGNS = {
    "file": (b"File too large", b"File size limit exceeded", b"EFBIG"),
    "memory": (b"Cannot allocate memory", b"MemoryError", b"ENOMEM", b"bad_alloc", b"out of memory"),
    "processes": (
        b"fork: Resource temporarily unavailable",
        b"fork: retry",
        b"EAGAIN",
        b"can't start new thread",
    ),
    "open_files": (b"Too many open files", b"EMFILE"),
    "tmpfs": (b"No space left on device", b"ENOSPC"),
}
"""How programs say what the kernel told them. It is in many programs' texts too, so it counts only where one failed."""

_FULL = 64 * 1024
_TOO_LARGE = (-signal.SIGXFSZ, 128 + signal.SIGXFSZ)


def stopped(over: Over) -> str:
    """The beginning of the sentence on a command that was killed for it."""
    size = _size(over.allowed)
    return {
        "memory": f"stopped: more than {size} of memory was held by the command and all it started",
        "processes": f"stopped: the command had more than {over.allowed} processes at once",
        "disk": f"stopped: more than {size} was added to the work tree and the temporary folder",
    }[over.name]


def next_step(name: str) -> str:
    return _NEXT[name]


def met(exit_code: int, printed: bytes, limits: Limits, folders: Iterable[str]) -> tuple[str, str] | None:
    """A limit that the kernel kept and a failed command may have met: its name, and a sentence. `printed` is the end of
    what it wrote, `folders` those that may be full."""
    signs = [name for name, words in _SIGNS.items() if any(word in printed for word in words)]
    name = "file" if exit_code in _TOO_LARGE else next(iter(signs), "")
    if name == "tmpfs":
        full = [f"{folder} ({_size(held)})" for folder in folders if (held := _full(folder))]
        return (name, f"full: {', '.join(full)}. {_NEXT[name]}") if full else None
    if not name:
        return None
    allowed = {
        "file": f"one file may have {_size(limits.file)} here, holes included",
        "memory": f"one process may ask for {_size(limits.memory)} of memory here, all together may hold as much",
        "processes": f"one command may have {limits.processes} processes here",
        "open_files": f"one process may have {limits.open_files} open files here",
    }[name]
    return name, f"{allowed}. {_NEXT[name]}"


def _full(folder: str) -> int:
    """The size of the file system that holds `folder`, where nothing is left of it; else 0."""
    try:
        at = os.statvfs(folder)
    except OSError:
        return 0
    return (
        at.f_blocks * at.f_frsize
        if at.f_bavail * at.f_frsize < _FULL or at.f_favail == 0 != at.f_files
        else 0
    )


def _size(count: int) -> str:
    unit, name = (GIB, "GiB") if count >= GIB else (MIB, "MiB") if count >= MIB else (1024, "KiB")
    return f"{count / unit:.3g} {name}"

"""Why the gate lets nothing out, and how much it lets out at most."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from bot.contracts.errors import GateError

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class GateLimits:
    """`entries` bounds how many files are looked at, `depth` how deep new folders are nested."""

    files: int = 300
    file_bytes: int = 5 * _MIB
    total_bytes: int = 20 * _MIB
    patch_bytes: int = 40 * _MIB
    entries: int = 1_000_000
    depth: int = 100


DEFAULT_LIMITS = GateLimits()


class HostileTree(GateError):
    """A work tree or patch that may not become a commit. `path` is the offending one, or ""."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class NoRoom(GateError):
    """The gate could not look, for want of what the machine has too little of. It said nothing of the tree."""


def no_room(error: Exception) -> NoRoom | None:
    """What `error` was, an `OSError` or one of git's, where the machine had too little of something."""
    number = error.errno if isinstance(error, OSError) else None
    words = next(
        (os.strerror(one) for one in _SHORTAGES if one == number or os.strerror(one) in str(error)), ""
    )
    return NoRoom(f"there was no room to judge the work tree: {words}. It is kept") if words else None


_SHORTAGES = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def shown(path: str) -> str:
    """`path` for a message: quoted, on one line, see `printable`."""
    return f"'{printable(path)}'"


def printable(path: str) -> str:
    """`path` with everything but plain printable characters escaped, of a long one the beginning."""
    text = "".join(
        char if char.isprintable() and not 0xDC80 <= ord(char) <= 0xDCFF else char.encode(
            "utf-8", "surrogateescape"
        ).decode("latin-1").encode("unicode_escape").decode()
        for char in path
    )  # fmt: skip
    return text if len(text) <= 200 else text[:200] + "..."

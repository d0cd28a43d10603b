"""Why the gate lets nothing out, and how much it lets out at most."""

from __future__ import annotations

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


def shown(path: str) -> str:
    """`path` for a message: quoted, with everything but plain printable characters escaped."""
    text = "".join(
        char if char.isprintable() and not 0xDC80 <= ord(char) <= 0xDCFF else char.encode(
            "utf-8", "surrogateescape"
        ).decode("latin-1").encode("unicode_escape").decode()
        for char in path
    )  # fmt: skip
    return f"'{text if len(text) <= 200 else text[:200] + '...'}'"

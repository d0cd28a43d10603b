"""How much a change may contain."""

from __future__ import annotations

from dataclasses import dataclass

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

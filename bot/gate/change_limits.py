"""How large a change may be, and how much it may delete."""

from typing import NamedTuple

_MIB = 1024 * 1024

DELETED_OF, DELETED_SHARE = 20, 0.5
"""A change may delete at most this share of the files, if there are so many."""


class ChangeLimits(NamedTuple):
    """`entries` is the number of files that are read, `depth` the nesting of new folders."""

    files: int = 300
    file_bytes: int = 5 * _MIB
    total_bytes: int = 20 * _MIB
    patch_bytes: int = 40 * _MIB
    entries: int = 1_000_000
    depth: int = 100


DEFAULT_LIMITS = ChangeLimits()

"""Splits a tree into portions of about as many files each, for searches side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

_MOST_PATHS = 200
"""git compares every path of its index with every one of a portion's."""

_FINENESS = 4
"""A folder is taken apart while it holds more than this part of one portion."""

_UNEVEN = 2


def portions(names: Sequence[str], count: int) -> list[list[str]]:
    """`count` lists of folders and files that together are all of `names` (sorted); one list with nothing in it,
    which stands for everything, where the tree cannot be split evenly by a few paths."""
    fair = len(names) / count
    # Largest first; the range of names that a unit covers goes with it.
    units = [(-(len(names)), "", 0, len(names))]
    while units:
        size, path, start, end = units[0]
        below = list(_children(names, path, start, end)) if -size > fair / _FINENESS else []
        if not below or len(units) + len(below) > _MOST_PATHS:
            break
        heappop(units)
        for child, first, last in below:
            heappush(units, (first - last, child, first, last))
    parts: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for size, path, _, _ in sorted(units):
        least = sizes.index(min(sizes))
        parts[least].append(path)
        sizes[least] -= size
    return parts if max(sizes) <= _UNEVEN * fair and all(parts) else [[]]


def _children(names: Sequence[str], path: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """What lies directly in `path` (a folder, or "" for the root), each with its range; nothing for a file."""
    if names[start] == path:
        return
    skip = len(path) + 1 if path else 0
    at = start
    while at < end:
        slash = names[at].find("/", skip)
        child = names[at] if slash < 0 else names[at][:slash]
        # "0" comes right after "/".
        after = at + 1 if slash < 0 else bisect_left(names, f"{child}0", at, end)
        yield child, at, after
        at = after

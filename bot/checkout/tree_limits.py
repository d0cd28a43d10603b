"""Limits on the trees that git checks out or reads into an index.

A few hostile objects can stand for 10,000,000,000 files, endlessly nested folders or gigabytes of zeros. `git.py`
limits memory and time of each git process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import closing

from bot.checkout.errors import HostileRepositoryError
from bot.checkout.git import Git

MOST_ENTRIES = 1_000_000
MOST_BYTES = 10 << 30
DEEPEST = 256

LONGEST_PATH = 4096
"""In bytes, as in Linux."""

_SECONDS = 300.0
_CHUNK = 1 << 20
_ENTRY = re.compile(rb"[0-7]{6} (\w+) ([0-9a-f]+)\t([^\0]*)\0")


def check_tree(git: Git, tree: str, env: Mapping[str, str] | None = None) -> None:
    """Raise `HostileRepositoryError` if `tree` is over a limit. The listing is read only up to that point."""
    blobs = Counter[bytes]()
    entries = 0
    partial = b""
    listing = git.start("ls-tree", "-r", "-t", "-z", "--full-tree", tree, env=env)
    with closing(listing.chunks(_CHUNK, _SECONDS)) as chunks:
        for chunk in chunks:
            complete, end, partial = (partial + chunk).rpartition(b"\0")
            listed = _ENTRY.findall(complete + end)
            entries += len(listed)
            blobs.update(sha for kind, sha, _ in listed if kind == b"blob")
            paths = [path for _, _, path in listed]
            if any(path.count(b"/") >= DEEPEST for path in paths):
                raise _over(tree, f"nests folders more than {DEEPEST} deep")
            if any(len(path) > LONGEST_PATH for path in (*paths, partial)):
                raise _over(tree, f"has a path of more than {LONGEST_PATH:,} bytes")
            if entries > MOST_ENTRIES:
                raise _over(tree, f"has more than {MOST_ENTRIES:,} files and folders")
    if _size(git, blobs, env) > MOST_BYTES:
        raise _over(tree, f"holds more than {MOST_BYTES >> 30} GiB")


def _size(git: Git, blobs: Counter[bytes], env: Mapping[str, str] | None) -> int:
    """Return the bytes of all files. A missing object counts as 0; git reports it at checkout."""
    listed = b"".join(sha + b"\n" for sha in blobs)
    sizes = git.run("cat-file", "--batch-check=%(objectsize)", input=listed, env=env).splitlines()
    return sum(int(size) * count for size, count in zip(sizes, blobs.values(), strict=True) if size.isdigit())


def _over(tree: str, reason: str) -> HostileRepositoryError:
    return HostileRepositoryError(
        f"the tree {tree[:12]} {reason}, which is the limit: it is not checked out. Remove what is too much from that "
        "commit, or name a branch without it"
    )

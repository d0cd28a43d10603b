"""What CI's set-up steps left, as one tar file: where it lies, and whether it fits the job that gets it.

The job that makes the file has no secret and runs code of the repository, so it is a stranger's: it is unpacked inside
the sandbox alone. What it says of itself decides whether it is of use, never what it may do. Standard library only.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.ecosystems.registry import ecosystems

MOST_BYTES, MOST_CACHED = 2 << 30, 1 << 30
"""Of an artifact, and of an entry in the repository's cache, which holds 10 GiB in all."""
FACTS, WORKSPACE, HOME, OUTSIDE = "facts", "workspace", "home", "outside"
"""The members of the file: a text, and the folders that were in the workspace, in the home, and at their own path."""


def facts(workspace: str, variables: Mapping[str, str], listing: bytes) -> str:
    """Return what must be the same in both jobs, one line each: places, image, interpreters, and the lock files of a
    commit. `listing` is git's `ls-tree -r -z` of it."""
    path = variables.get("PATH", "")
    programs = ((name, shutil.which(name, path=path)) for one in ecosystems() for name in one.interpreters)
    lines = {
        "workspace": workspace,
        "home": os.path.expanduser("~"),
        "image": f"{variables.get('ImageOS', '')} {variables.get('ImageVersion', '')}",
        "machine": " ".join((platform.machine(), *platform.libc_ver())),
        **{name: os.path.realpath(program) for name, program in programs if program},
        "locks": lock_files_digest(listing),
    }
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def lock_files_digest(listing: bytes) -> str:
    """Return one digest of the lock files of a commit; `listing` is that of `facts`."""
    entries = (entry.partition(b"\t") for entry in listing.split(b"\0"))
    own = [head + b" " + path for head, _, path in entries if is_lock_file(os.fsdecode(path))]
    return hashlib.sha256(b"\0".join(sorted(own))).hexdigest()


def is_lock_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatch.fnmatch(name, pattern) for one in ecosystems() for pattern in one.locks)


def kept_in_home() -> Iterator[str]:
    """Yield the folders of a home whose new files belong to an environment."""
    return (name for one in ecosystems() for name in (*one.home_packages, *one.home_environments))


def kept_at_their_path(variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of this machine that programs of an environment name by their path: those of packages in the
    tool cache, and environments in the home."""
    cache = variables.get("RUNNER_TOOL_CACHE") or "/nonexistent"
    for name in (name for one in ecosystems() for name in one.packages):
        # A tool, its version, its architecture.
        yield from map(Path, sorted(glob.glob(os.path.join(glob.escape(cache), "*/*/*", name))))
    yield from (Path(os.path.expanduser("~"), name) for one in ecosystems() for name in one.home_environments)

"""The diff between two commits in git's words, as a review reads it, free of any work tree and its attributes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bot.checkout.git import Git
from bot.checkout.layout import READABLE_ATTRIBUTES, make_git_dir, object_format_of

# Three lines of context and the search for renames are what GitHub shows, and so what comments may stand on.
_OPTIONS = (
    "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--unified=3",
    "--src-prefix=a/", "--dst-prefix=b/", "--full-index", "--submodule=short",
)  # fmt: skip
# Larger files are compared as binary ones, which takes no memory.
_LARGE = ("-c", "core.bigFileThreshold=4m")


def diff_between(git: Git, base: str, head: str, also: Mapping[str, str] | None = None) -> bytes:
    """What `head` changes of `base`, commits whose objects are in `git`. Raises `GitError`.

    It is made in a git directory of its own: the attributes of the trusted one call every file binary. `also` is the
    environment in which git sees further objects: see `bot.checkout.local.borrowing`.
    """
    folder = Path(tempfile.mkdtemp(prefix="compare-", dir=git.git_dir.parent))
    try:
        own = folder / "git"
        make_git_dir(own, bare=True, object_format=object_format_of(head), attributes=READABLE_ATTRIBUTES)
        objects = {"GIT_OBJECT_DIRECTORY": str(git.git_dir / "objects"), **(also or {})}
        ends = (f"{base}^{{tree}}", f"{head}^{{tree}}")
        return Git(own).run(*_LARGE, "diff-tree", *_OPTIONS, *ends, env=objects)
    finally:
        shutil.rmtree(folder)

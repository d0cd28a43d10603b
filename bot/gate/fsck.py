"""git's own word on the objects that are to leave, a second opinion on names and modes after `bot/gate/rules.py`.

Only what the base commit does not have is looked at: a repository's past may hold what git would not take today.
"""

from __future__ import annotations

from bot.checkout.git import GitError
from bot.gate.errors import HostileTree
from bot.gate.scratch import Scratch


def refuse_unsound(scratch: Scratch, base_sha: str, tree_sha: str) -> None:
    """Raises `HostileTree` where `git fsck` would refuse a tree or a file of it. Two processes, 10 ms."""
    new = f"{tree_sha}\n^{base_sha}\n".encode()
    packed = scratch.git.run("pack-objects", "--quiet", "--revs", "--stdout", input=new)
    try:
        scratch.git.run(
            "index-pack", "--fsck-objects", "--stdin", str(scratch.folder / "new.pack"), input=packed
        )
    except GitError as error:
        raise HostileTree(f"git refuses what would be published: {error.detail}") from error

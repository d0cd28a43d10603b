"""Where a symbolic link leads, decided from the tree's own data and never by following one on disk.

Names are compared as the most forgiving file system would: in a checkout there `UP` is the link `up`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.gate.rules import folded, is_git_folder

_MOST_HOPS = 40
_LONGEST_TARGET = 4096
_DRIVE = re.compile(r"[A-Za-z]:")


def leads_out(path: str, links: Mapping[str, str]) -> str | None:
    """Why the link at `path` may not be published, or `None` when it stays in the tree.

    `links` are the targets of every link of the tree that the change would make, `path` among them, by their
    `place`. The reason follows "the symbolic link X".
    """
    own = links[place(path)]
    where = place(path).split("/")[:-1]
    ahead = _steps(own)
    hops = 0
    if _is_absolute(own):
        return "points to an absolute path"
    if "\\" in own:
        return "has a backslash in its target, which separates folders on Windows"
    if len(own) > _LONGEST_TARGET:
        return "has a target that is too long"
    while ahead:
        step = ahead.pop()
        if step == "..":
            if not where:
                return "points out of the tree"
            where.pop()
            continue
        if is_git_folder(step):
            return "points into git's own folder"
        where.append(folded(step))
        target = links.get("/".join(where))
        if target is not None:
            hops += 1
            if hops > _MOST_HOPS:
                return "goes round in a circle"
            if _is_absolute(target) or "\\" in target:
                return "leads out of the tree through another link"
            where.pop()
            ahead += _steps(target)
    return None


def place(path: str) -> str:
    """`path` as the key of a link."""
    return "/".join(map(folded, path.split("/")))


def _is_absolute(target: str) -> bool:
    return target.startswith("/") or _DRIVE.match(target) is not None


def _steps(target: str) -> list[str]:
    """The components of `target`, the first one last."""
    return [part for part in reversed(target.split("/")) if part not in ("", ".")]

"""Where a symbolic link leads, decided from the tree's own data and never by following one on disk."""

from __future__ import annotations

from collections.abc import Mapping

from bot.gate.rules import folded

_MOST_HOPS = 40
_LONGEST_TARGET = 4096


def leads_out(path: str, links: Mapping[str, str]) -> str | None:
    """Why the link at `path` may not be published, or `None` when it stays in the tree.

    `links` are the targets of every link of the tree that the change would make, `path` among them. The
    reason follows "the symbolic link X".
    """
    where = path.split("/")[:-1]
    ahead = _steps(links[path])
    hops = 0
    if links[path].startswith("/"):
        return "points to an absolute path"
    if len(links[path]) > _LONGEST_TARGET:
        return "has a target that is too long"
    while ahead:
        step = ahead.pop()
        if step == "..":
            if not where:
                return "points out of the tree"
            where.pop()
            continue
        if folded(step) == ".git":
            return "points into git's own folder"
        where.append(step)
        target = links.get("/".join(where))
        if target is not None:
            hops += 1
            if hops > _MOST_HOPS:
                return "goes round in a circle"
            if target.startswith("/"):
                return "leads out of the tree through another link"
            where.pop()
            ahead += _steps(target)
    return None


def _steps(target: str) -> list[str]:
    """The components of `target`, the first one last."""
    return [part for part in reversed(target.split("/")) if part not in ("", ".")]

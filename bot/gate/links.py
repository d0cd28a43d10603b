"""Symbolic links of a change: none may lead out of the tree, and none may make another one do so."""

import os
import re
from collections.abc import Mapping, Sequence

from bot.checkout.objects import contents
from bot.contracts.plain_text import quoted
from bot.gate.objects import LINK, Change, Entry, Reasons, Scratch
from bot.gate.path_rules import folded, is_git_folder

_MOST_HOPS = 40
_LONGEST_TARGET = 4096
_DRIVE = re.compile(r"[A-Za-z]:")


def is_link(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == LINK


def links_of(scratch: Scratch, changes: Sequence[Change]) -> Mapping[str, str]:
    """Return the targets of the base's links by path; none if no link is among the changes."""
    if not any(is_link(change.new) or is_link(change.old) for change in changes):
        return {}
    shas = {path: entry.sha for path, entry in scratch.base.items() if is_link(entry)}
    targets = contents(scratch.git, list(shas.values()))
    return {path: os.fsdecode(data) for path, data in zip(shas, targets, strict=True)}


def links_out(old: Mapping[str, str], changes: Sequence[Change]) -> Reasons:
    """Return reasons by path. If an unchanged link leads out of the tree because of another changed link or folder, no
    link of the base may change."""
    touched = [change for change in changes if is_link(change.new) or is_link(change.old)]
    if not touched:
        return {}
    new = {change.path: os.fsdecode(change.data or b"") for change in touched if is_link(change.new)}
    changed = {change.path for change in changes}
    unchanged = {path: target for path, target in old.items() if path not in changed}
    before = {folded(path): target for path, target in old.items()}
    after = {folded(path): target for path, target in (unchanged | new).items()}
    out = {path: f"the symbolic link {reason}" for path in new if (reason := leads_out(path, after))}
    if out:
        return out
    for path in unchanged:
        # Links that led out in the base are allowed.
        if (reason := leads_out(path, after)) and leads_out(path, before) is None:
            with_it = f"with it the symbolic link {quoted(path)} {reason}"
            return {change.path: with_it for change in touched}
    return {}


def leads_out(path: str, links: Mapping[str, str]) -> str | None:
    """Return why the link at `path` may not be published, or `None` if it stays in the tree.

    `links` are the targets of all links of the changed tree by their folded paths, `path` included. The reason follows
    "the symbolic link X".
    """
    own = links[folded(path)]
    where = folded(path).split("/")[:-1]
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


def _is_absolute(target: str) -> bool:
    return target.startswith("/") or _DRIVE.match(target) is not None


def _steps(target: str) -> list[str]:
    """Return the components of `target`, the first one last."""
    return [part for part in reversed(target.split("/")) if part not in ("", ".")]

"""Checks of a tree as a whole: where its symbolic links lead, names that collide, and `git fsck`.

Links are resolved in the tree's own data and never followed on disk. Names compare as on the most forgiving file
system: there `UP` is the link `up`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from bot.checkout.git import GitError
from bot.gate.errors import HostileTree
from bot.gate.objects import Scratch
from bot.gate.path_rules import folded, is_git_folder

_MOST_HOPS = 40
_LONGEST_TARGET = 4096
_DRIVE = re.compile(r"[A-Za-z]:")


def leads_out(path: str, links: Mapping[str, str]) -> str | None:
    """Why the link at `path` may not be published, or `None` when it stays in the tree.

    `links` are the targets of every link of the tree that the change would make, `path` among them, by their
    `link_key`. The reason follows "the symbolic link X".
    """
    own = links[link_key(path)]
    where = link_key(path).split("/")[:-1]
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


def link_key(path: str) -> str:
    """`path` as the key of a link."""
    return "/".join(map(folded, path.split("/")))


def _is_absolute(target: str) -> bool:
    return target.startswith("/") or _DRIVE.match(target) is not None


def _steps(target: str) -> list[str]:
    """The components of `target`, the first one last."""
    return [part for part in reversed(target.split("/")) if part not in ("", ".")]


_PLAIN = re.compile(r"(?:[\w./~+@-]*[\w~+@-])", re.ASCII)


def collisions(result: Iterable[str], added: Iterable[str]) -> Mapping[str, str]:
    """The paths of `added` that would share a place with another path of `result`, each with that other one.

    `result` are all paths of the tree that would come of it, `added` those of them that the base does not have. A
    folder counts as its name: `Src/a` and `src/b` are one folder to some, and two to git.
    """
    names: dict[str, set[str]] = {}
    news = sorted(added)
    wanted = {_key(name) for path in news for name in _prefixes(path)}
    if not wanted:
        return {}
    for path in result:
        for name in _prefixes(path):
            key = _key(name)
            if key in wanted:
                names.setdefault(key, set()).add(name)
    colliding: dict[str, str] = {}
    for path in news:
        for name in _prefixes(path):
            others = names.get(_key(name), set()) - {name}
            if others:
                colliding[path] = min(others)
                break
    return colliding


def _prefixes(path: str) -> Iterable[str]:
    """`a`, `a/b`, `a/b/c`."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
    yield path


def _key(name: str) -> str:
    # Most names are ASCII without dots or spaces at their end, and there may be a million of them.
    if "./" not in name and _PLAIN.fullmatch(name):
        return name.lower()
    return unicodedata.normalize("NFC", "/".join(folded(part) for part in name.split("/")))


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

"""Globs over paths relative to the root, matched without regular expressions.

`*` and `?` stay within one name, `**` stands for any number of folders. Nothing else is special: `[id]` is a
folder's name in more repositories than it is a character class. A glob is matched from the root on (`*.md` matches
in the root only, `**/*.md` in every folder). One that ends in `/`, or has no wildcard, also covers a folder's contents.

A backtracking regular expression takes hours over a name that the model picked to make it; this matcher's
time is bounded by the product of the two lengths for each level.
"""

import posixpath
import re
from collections.abc import Callable, Sequence

_WILDCARD = re.compile(r"[*?]")


def matches(glob: str, path: str) -> bool:
    """Whether `glob` matches `path`. Both are relative to the root, with `/` between names."""
    pattern = glob.rstrip("/").split("/")
    names = path.split("/")
    if _star_match(pattern, names, "**", _name_matches):
        return True
    covers_contents = glob.endswith("/") or not _WILDCARD.search(glob)
    return covers_contents and _star_match([*pattern, "**"], names, "**", _name_matches)


def _star_match(
    pattern: Sequence[str], subject: Sequence[str], star: str, equal: Callable[[str, str], bool]
) -> bool:
    """Match with one kind of star that takes any number of elements.

    On a mismatch only the last star needs to take one element more, so the time is at most the product of
    the lengths.
    """
    at = position = 0
    star_at, star_position = -1, 0
    while position < len(subject):
        if at < len(pattern) and pattern[at] == star:
            star_at, star_position = at, position
            at += 1
        elif at < len(pattern) and equal(pattern[at], subject[position]):
            at += 1
            position += 1
        elif star_at >= 0:
            star_position += 1
            at, position = star_at + 1, star_position
        else:
            return False
    return all(one == star for one in pattern[at:])


def _name_matches(pattern: str, name: str) -> bool:
    return pattern == name or _star_match(pattern, name, "*", lambda one, other: one in ("?", other))


def normalise(path: str, root: str = "") -> str | None:
    """Return `path` relative to the root, without following links; `None` if it is outside.

    The tool host resolves links, and the gate checks the real paths of the diff.
    """
    if path.startswith("/"):
        if not root:
            return None
        path = posixpath.relpath(posixpath.normpath(path), posixpath.normpath(root))
    path = posixpath.normpath(path)
    return None if path == ".." or path.startswith("../") else path


def flaw(glob: str) -> str:
    """Return why no path can match `glob`; empty if one can."""
    if not glob:
        return "an empty glob matches nothing"
    if glob.startswith("/"):
        return "globs are relative to the root: leave the first / out"
    if "\\" in glob:
        return "a backslash escapes nothing here; use / between names"
    if re.search(r"\{[^{}]*,[^{}]*\}", glob):
        return "braces are not expanded; write one glob for each"
    names = glob.removesuffix("/").split("/")
    if ".." in names or "." in names:
        return "paths have no . or .. once resolved, so this matches nothing"
    if "" in names:
        return "paths have no empty names, so this matches nothing"
    if any("**" in name and name != "**" for name in names):
        return "** stands for whole folders: write a/**/b"
    return ""

"""Paths and globs of a policy, relative to the root; see `bot.contracts.globs`."""

from __future__ import annotations

import posixpath
import re


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

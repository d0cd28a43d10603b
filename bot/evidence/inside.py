"""Paths in what a command printed: those in the tree that it ran in as paths of the repository, since where the tree
of a run lay tells a reader nothing, and is another one before and after a change."""

from __future__ import annotations

import re


def relative(text: str, root: str) -> str:
    """`text` with the paths under `root`, the absolute path of a tree, told from there; itself is `.`."""
    if root in ("", "/"):
        return text
    # At its start it is no part of a longer path, of an address or of a name; at its end neither.
    here = rf"(?<![\w./~-])(?:file://)?{re.escape(root.rstrip('/'))}"
    return re.sub(rf"{here}/?(?![\w/-]|[.@+]\w)", ".", re.sub(rf"{here}/(?=[\w.@+-])", "", text))

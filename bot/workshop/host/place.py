"""Where a listing or a search looks: a folder or file beneath one of the folders that may be read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bot.workshop.host import ignore
from bot.workshop.host.context import Context
from bot.workshop.host.listing import files, in_other_repository
from bot.workshop.host.paths import inside


@dataclass(frozen=True, slots=True)
class Place:
    """`below` is relative to `root`, empty for all of it. `plain` means that what is there is not simply the work
    tree's own files: it is ignored, in another repository, or outside the work tree. Asked for by name, such a
    place is looked into all the same."""

    root: Path
    below: str
    in_tree: bool
    plain: bool

    def names(self, context: Context) -> list[str]:
        """Its files, relative to itself."""
        start = len(self.below) + 1 if self.below else 0
        return [name[start:] for name in self.full_names(context)]

    def full_names(self, context: Context) -> list[str]:
        """Its files, relative to `root`."""
        if not self.plain:
            return context.files.names(self.below)
        return files(
            self.root, below=self.below, tmp=context.tmp, cancelled=context.cancelled, hidden_too=True
        )


def place_of(context: Context, path: Path) -> Place:
    """The place of a resolved path."""
    for folder in (context.root, context.spill, context.tmp, *context.readable):
        real = os.path.realpath(folder)
        if inside(str(path), real):
            break
    else:
        raise AssertionError("a resolved path is in one of the folders")
    root = Path(real)
    below = os.path.relpath(path, root) if path != root else ""
    in_tree = folder == context.root
    return Place(root, below, in_tree, not in_tree or _apart(root, below, folder=path.is_dir()))


def _apart(root: Path, below: str, *, folder: bool) -> bool:
    if not below:
        return False
    hidden = ignore.is_ignored(os.fsencode(root), os.fsencode(below), folder=folder)
    return hidden or in_other_repository(root, below if folder else os.path.dirname(below))

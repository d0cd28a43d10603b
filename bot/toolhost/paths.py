"""Resolve the paths that the model gives below the work tree, and format paths for it in one spelling."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bot.toolhost import globs
from bot.toolhost.context import Context, ToolFailure
from bot.toolhost.listing import files, in_other_repository


def resolve(context: Context, path: str) -> Path:
    """The file that `path` leads to after all links, inside the root. It need not exist.

    Relative paths count from the root. Raises `ToolFailure` for everything outside.
    """
    return _resolve(context, path, ())


def resolve_readable(context: Context, path: str) -> Path:
    """As `resolve`, but the workspace's own folders (spilled output, temporary files) and the readable folders may
    be read as well."""
    return _resolve(context, path, (context.root, context.spill, context.tmp, *context.readable))


def _resolve(context: Context, path: str, folders: tuple[Path, ...]) -> Path:
    if not path:
        raise ToolFailure('"path" is empty. Give a path relative to the root of the repository.')
    if "\0" in path:
        raise ToolFailure('"path" holds a NUL character. Give the path without it.')
    # os.path.join takes an absolute path as it is; realpath also works where the last parts do not exist yet.
    real = os.path.realpath(os.path.join(context.root, path))
    if inside(real, context.real_root) or any(inside(real, os.path.realpath(folder)) for folder in folders):
        return Path(real)
    if inside(os.path.normpath(os.path.join(context.root, path)), str(context.root)):
        raise ToolFailure(
            f"{display_name(path)} is a link that leads out of the repository, to {display_name(real)}; such a "
            "link is never followed. Use a path inside the repository."
        )
    raise ToolFailure(
        f"{display_name(path)} is outside the repository, which is at {display_name(str(context.root))}. "
        "Use a path inside it."
    )


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or beneath it. Both absolute and normalised; /repo-two is not in /repo."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def relative(context: Context, path: Path) -> str:
    """How `path` is named to the model: relative to the root, or absolute in one of the other folders."""
    if not inside(str(path), context.real_root):
        return display_name(str(path))
    return display_name(str(path)[len(context.real_root) :].lstrip("/") or ".")


def display_name(name: str) -> str:
    """`name` with bytes that are not UTF-8 and control characters spelled out, so that it stays on one line."""
    name = os.fsencode(name).decode("utf-8", "backslashreplace")
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def failure(error: OSError, name: str) -> ToolFailure:
    """The result for a file that the operating system would not give; `name` as the model knows it."""
    reason = (error.strerror or str(error)).lower()
    return ToolFailure(f"{name}: {reason}. Check the path with ls, or look at the file with bash.")


@dataclass(frozen=True, slots=True)
class SearchLocation:
    """`below` is relative to `root`, empty for all of it. `plain` means that the place is not simply part of the
    work tree: it is ignored, in another repository, or outside the tree. It is still read if it is named explicitly."""

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


def search_location(context: Context, path: Path) -> SearchLocation:
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
    return SearchLocation(root, below, in_tree, not in_tree or _apart(root, below, folder=path.is_dir()))


def _apart(root: Path, below: str, *, folder: bool) -> bool:
    if not below:
        return False
    hidden = globs.is_ignored(os.fsencode(root), os.fsencode(below), folder=folder)
    return hidden or in_other_repository(root, below if folder else os.path.dirname(below))

"""Names that the model uses for files: resolved beneath the work tree, and shown again in one spelling."""

from __future__ import annotations

import os
from pathlib import Path

from bot.workshop.host.context import Context, ToolFailure


def resolve(context: Context, path: str) -> Path:
    """The file that `path` leads to after all links, inside the root. It need not exist.

    Relative paths count from the root. Raises `ToolFailure` for everything outside.
    """
    return _resolve(context, path, ())


def resolve_readable(context: Context, path: str) -> Path:
    """As `resolve`, but the workshop's own folders (spilled output, temporary files) may be read as well, and those
    that are shown to be read."""
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
            f"{shown(path)} is a link that leads out of the repository, to {shown(real)}; such a link is never "
            "followed. Use a path inside the repository."
        )
    raise ToolFailure(
        f"{shown(path)} is outside the repository, which is at {shown(str(context.root))}. Use a path inside it."
    )


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or beneath it. Both absolute and normalised; /repo-two is not in /repo."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def relative(context: Context, path: Path) -> str:
    """How `path` is named to the model: relative to the root, or absolute in one of the other folders."""
    if not inside(str(path), context.real_root):
        return shown(str(path))
    return shown(str(path)[len(context.real_root) :].lstrip("/") or ".")


def shown(name: str) -> str:
    """`name` with bytes that are not UTF-8 and control characters spelled out, so that it stays on one line."""
    name = os.fsencode(name).decode("utf-8", "backslashreplace")
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def failure(error: OSError, name: str) -> ToolFailure:
    """The result for a file that the operating system would not give; `name` as the model knows it."""
    reason = (error.strerror or str(error)).lower()
    return ToolFailure(f"{name}: {reason}. Check the path with ls, or look at the file with bash.")

"""`ls`: what is in a folder, as a tree that is filled level by level until it is full."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.contracts.workspace_tools import MAX_ENTRIES
from bot.toolhost.context import Context, text_argument
from bot.toolhost.files import display_name, failure, missing, relative, resolve_readable, search_location


class _Folder:
    """`total` counts the files beneath it, at any depth; `chosen` are the entries to show."""

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}
        self.names: list[str] = []
        self.total = 0
        self.chosen: list[str] = []

    @property
    def entries(self) -> list[str]:
        return sorted([*self.folders, *self.names])


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    raw_path = text_argument(arguments, "path", ".")
    path = resolve_readable(context, raw_path)
    name = relative(context, path)
    if not path.is_dir():
        if path.exists():
            raise ToolFailure(f"{display_name(raw_path)} is not a folder. Show it with view.")
        raise missing(context, path, raw_path)
    tree = _tree(context, path)
    try:
        left_out = _left_out(path, tree)
    except OSError as error:
        raise failure(error, name) from None
    hidden = _choose(tree)
    lines = [f"{name}/ ({_files(tree.total)})", *_render(tree, "  ")]
    if hidden:
        lines.append(f"[{hidden} entries are not shown; list one of the folders to see them]")
    if left_out:
        some = ", ".join(map(display_name, left_out[:8])) + (", ..." if len(left_out) > 8 else "")
        lines.append(f"[{len(left_out)} skipped here, ignored or empty: {some}]")
    metadata = {"path": name, "files": tree.total, "skipped": len(left_out), "truncated": hidden > 0}
    return ToolOutcome("\n".join(lines), metadata=metadata)


def _tree(context: Context, path: Path) -> _Folder:
    tree = _Folder()
    for name in search_location(context, path).names:
        at = tree
        at.total += 1
        *folders, last = name.split("/")
        for folder in folders:
            at = at.folders.setdefault(folder, _Folder())
            at.total += 1
        at.names.append(last)
    return tree


def _left_out(path: Path, tree: _Folder) -> list[str]:
    """The entries of the folder itself that are not in the tree."""
    known = tree.folders.keys() | set(tree.names) | {".git"}
    return sorted(name + "/" * os.path.isdir(path / name) for name in os.listdir(path) if name not in known)


def _choose(tree: _Folder) -> int:
    """Choose the shown entries, level by level until full. Returns the number of the others."""
    shown_entries = all_entries = 0
    level = [tree]
    while level:
        for folder in level:
            folder.chosen = folder.entries[: MAX_ENTRIES - shown_entries]
            shown_entries += len(folder.chosen)
            all_entries += len(folder.folders) + len(folder.names)
        level = [sub for folder in level for _, sub in sorted(folder.folders.items())]
    return all_entries - shown_entries


def _render(folder: _Folder, indent: str) -> Iterator[str]:
    for name in folder.chosen:
        sub = folder.folders.get(name)
        if sub is None:
            yield indent + display_name(name)
        else:
            yield f"{indent}{display_name(name)}/ ({_files(sub.total)})"
            yield from _render(sub, indent + "  ")


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"

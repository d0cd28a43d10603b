"""Put environment folders into a work tree: as mount points, or as links if nothing can be mounted.

A `node_modules` is a folder of links in both cases: tools write caches in it, and a link in it to a package of the
repository (a workspace, `npm link`) must lead into the changed tree. Commands may have changed the tree before: every
folder is opened by its name in its parent, and no link is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bot.ecosystems.registry import ecosystems
from bot.workspace.sandbox.confinement import STORE, EnvironmentFolder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CACHES = frozenset([STORE.split("/")[0], *(name for one in ecosystems() for name in one.linked_without)])


def links(folders: Sequence[EnvironmentFolder], *, moves: bool) -> dict[str, str]:
    """The links that `place_folders` makes in a work tree: their targets by path."""
    targets: dict[str, str] = {}
    for folder in folders:
        if folder.path and folder.is_node:
            targets |= _of_node(folder, moves)
        elif folder.path and not moves:
            targets[folder.path] = str(folder.source)
    return targets


def place_folders(
    tree: Path, folders: Sequence[EnvironmentFolder], *, moves: bool
) -> tuple[EnvironmentFolder, ...]:
    """Make mount points or links for `folders` in `tree`; return the folders for which that succeeded. Files of
    commands at these paths are not changed."""
    placeable: list[EnvironmentFolder] = []
    for folder in folders:
        with suppress(OSError):
            _place_folder(tree, folder, moves)
            placeable.append(folder)
    # The git of the tree excludes them: a rule such as `.venv/` matches no link.
    paths = (re.sub(r"[\\*?\[ ]", r"\\\g<0>", folder.path) for folder in folders if folder.path)
    with (
        suppress(OSError),
        _opened(tree, ".git/info") as at,
        open(os.open("exclude", _NEW, 0o644, dir_fd=at), "w") as file,
    ):
        file.write("".join(f"/{path}\n" for path in paths))
    return tuple(placeable)


def _place_folder(tree: Path, folder: EnvironmentFolder, moves: bool) -> None:
    above, _, name = folder.path.rpartition("/")
    with _opened(tree, above) as parent:
        if not (folder.is_node or moves):
            with suppress(FileExistsError):
                os.symlink(folder.source, name, dir_fd=parent)
            return
        _make(name, parent)
    with _opened(tree, folder.path) as at:
        if folder.is_node and moves:
            _make(STORE.split("/")[0], at)
    if folder.is_node and moves:
        with _opened(tree, f"{folder.path}/{STORE}", make_last=True):
            pass  # no part of its path is a link
    if folder.is_node:
        for path, target in _of_node(folder, moves).items():
            _link(tree, path, target)


def _link(tree: Path, path: str, target: str) -> None:
    above, _, name = path.rpartition("/")
    with suppress(OSError), _opened(tree, above, make_last=True) as parent:
        os.symlink(target, name, dir_fd=parent)


def _of_node(folder: EnvironmentFolder, moves: bool) -> dict[str, str]:
    """The links of a `node_modules`, by path in the tree. Scopes and `.bin` are folders of links themselves."""
    targets: dict[str, str] = {}
    for name, entry in _entries(folder.source):
        if name in _CACHES:
            continue
        if name.startswith((".bin", "@")) and entry.is_dir(follow_symlinks=False):
            inner = [(f"{name}/{one}", other) for one, other in _entries(Path(entry.path))]
        else:
            inner = [(name, entry)]
        for path, one in inner:
            if target := _target(folder, path, one, moves):
                targets[f"{folder.path}/{path}"] = target
    return targets


def _target(folder: EnvironmentFolder, name: str, entry: os.DirEntry[str], moves: bool) -> str:
    """The target of the link `name`. If the entry is a link itself, the target is the same path in the tree; empty if
    it leads out of the checkout."""
    here = os.path.dirname(f"{folder.path}/{name}")
    if entry.is_symlink():
        top = str(folder.source)[: -len(folder.path) - 1]
        end = os.path.normpath(os.path.join(top, here, os.readlink(entry.path)))
        return os.path.relpath(end, os.path.join(top, here)) if end.startswith(f"{top}/") else ""
    return os.path.join("../" * name.count("/") + STORE, name) if moves else str(folder.source / name)


def _entries(folder: Path) -> list[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry) for entry in entries]
    except OSError:
        return []  # removed meanwhile, or not readable, inside neither


def _make(name: str, parent: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)


@contextmanager
def _opened(tree: Path, path: str, *, make_last: bool = False) -> Iterator[int]:
    """Yield a descriptor of a folder of `tree`. Raises `OSError` if a part of the path is a link or no folder."""
    here = os.open(tree, _FOLDER)
    try:
        names = path.split("/") if path else []
        for number, name in enumerate(names, 1):
            if make_last and number == len(names):
                _make(name, here)
            inner = os.open(name, _FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)

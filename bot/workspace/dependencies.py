"""The installed packages, tools and builds of a checkout: find their folders, and place them into a work tree.

The tree is not walked: candidates are beside known manifests, and one call of git tells which are ignored. A folder
that the repository does not have git ignore (a person's ignore file for all repositories does not count), and that
bears no mark of an environment, belongs to the repository's content and is not used. No link is followed.

Of installs of the repository's own packages, find the folders of the changed tree that Python must import from, in
place of copies, and of the path that editable installs name if the tree is not there.

Folders are placed as mount points, or as links if nothing can be mounted. A `node_modules` is a folder of links in both
cases: tools write caches in it, and a link in it to a package of the repository (a workspace, `npm link`) must lead
into the changed tree. Commands may have changed the tree before: every folder is opened by its name in its parent.
"""

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from posixpath import basename, dirname

from bot.checkout.git import Git, GitError, clean_environment
from bot.contracts.regular_files import FOLDER, TO_CREATE
from bot.ecosystems.python_environments import PACKAGE, hooks, leads
from bot.ecosystems.registry import ecosystems
from bot.workspace.sandbox.confinement import STORE, Dependencies, EnvironmentFolder
from bot.workspace.sandbox.hidden_paths import entries_of
from bot.workspace.sandbox.toolchains import needed_by, who_may_write

_ENVIRONMENTS = frozenset(name for one in ecosystems() for name in one.environments)
_LINKED = {one.linked: basename(one.bins[0]) for one in ecosystems() if one.linked}
"""Folders of packages, each with its folder of programs."""

_BESIDE = tuple(one.installed_beside for one in ecosystems())


def environment_folders(
    top: Path, git: Git, tracked: Collection[str], variables: Mapping[str, str]
) -> tuple[EnvironmentFolder, ...]:
    """The folders of the checkout at `top`, and the Python environment outside of it that belongs to it, if it has none
    itself. Those that cannot be shown are among them. `tracked` are the paths of its commit; `variables` is the user's
    environment. `top` is resolved."""
    folders = [_with_refusal(one, variables) for one in folders_in(top, git, tracked, variables)]
    # Environments in whose place the checkout has a link.
    for path in _candidates(tracked, folders_of(tracked)):
        if os.path.islink(top / path) and _is_marked(top, path) and os.path.isdir(top / path):
            folders.append(EnvironmentFolder(top / path, path, unshown="it is a link, which is not followed"))
    if not _with_python(folders):
        # The first Python environment outside of the checkout that belongs to it.
        outside = (path for one in ecosystems() for path in one.environments_outside(top, tracked, variables))
        real = (Path(os.path.realpath(path)) for path in outside if os.path.isabs(path))
        own = Path(os.path.realpath(sys.prefix))
        if first := next((path for path in real if is_environment(path) and path != own), None):
            folders.append(_with_refusal(EnvironmentFolder(first, "", "bin"), variables))
    if _with_python(folders):
        folders = [one for one in folders if not (one.unshown and is_environment(one.source))]
    return tuple(folders)


def _with_python(folders: Iterable[EnvironmentFolder]) -> bool:
    return any(folder.programs == "bin" and not folder.unshown for folder in folders)


def _with_refusal(folder: EnvironmentFolder, variables: Mapping[str, str]) -> EnvironmentFolder:
    """Return the folder with the reason why it cannot be shown, if there is one."""
    if "RUNNER_TEMP" in variables:  # a runner has one user, and no command ran yet
        return folder
    if not folder.path and folder.source not in needed_by(folder.source / "bin"):
        return replace(folder, unshown="nothing in its place is ever shown")
    return replace(folder, unshown=who_may_write(folder.source))


def folders_in(
    top: Path, git: Git, tracked: Collection[str], variables: Mapping[str, str] | None = None
) -> tuple[EnvironmentFolder, ...]:
    """The folders beneath `top` only. `git` applies the ignore rules."""
    source = variables or {}
    inside = folders_of(tracked)
    there = [
        path
        for path in _candidates(tracked, inside)
        if os.path.isdir(folder := os.path.join(top, path))
        and os.path.realpath(folder) == folder
        and (basename(path) not in _ENVIRONMENTS or is_environment(folder))
    ]
    ignored = _ignored(git, top, there)
    paths = [path for path in there if path in ignored or _is_marked(top, path)]
    environments = [path for path in paths if basename(path) in _ENVIRONMENTS]
    active = os.path.relpath(source.get("VIRTUAL_ENV") or top, top)
    chosen = active if active in environments else next(iter(environments), None)
    programs = {chosen or "": "bin", **_LINKED}
    # Submodules that were fetched. The commit has each as one path without content.
    for path in tracked if ".gitmodules" in tracked else ():
        folder = os.path.join(top, path)
        if os.path.isdir(folder) and os.path.realpath(folder) == folder and os.listdir(folder):
            paths.append(path)
    return tuple(EnvironmentFolder(top / path, path, programs.get(path, "")) for path in paths)


def _candidates(tracked: Iterable[str], inside: Collection[str]) -> list[str]:
    """The candidates from the root down, in the order of preference, without those that the commit has files in."""
    places: dict[tuple[str, str], None] = {}
    for path in ("", *sorted(tracked, key=lambda one: one.count("/"))):
        folder, _, name = path.rpartition("/")
        places |= {(folder, one): None for tool in _BESIDE for one in tool.get(name, ())}
    paths = (f"{folder}/{name}" if folder else name for folder, name in places)
    return [path for path in paths if path not in inside and "\n" not in path]


def folders_of(tracked: Iterable[str]) -> set[str]:
    """Every tracked path and all its parent folders."""
    parents: set[str] = set()
    for path in tracked:
        while path and path not in parents:
            parents.add(path)
            path = dirname(path)
    return parents


def _is_marked(top: Path, path: str) -> bool:
    """Whether it is an environment whether git ignores it or not: the commit has no file in it."""
    return basename(path) in _LINKED or is_environment(top / path)


def is_environment(folder: str | Path) -> bool:
    return any(one.is_environment(str(folder)) for one in ecosystems())


def _ignored(git: Git, top: Path, paths: list[str]) -> set[str]:
    """Those of `paths` whose content the repository has git ignore."""
    if not paths:
        return set()
    # A name in the folder is asked about in its place: some environments have a `.gitignore` with `*`.
    names = b"".join(os.fsencode(f"./{path}/x\0") for path in paths)
    settings = clean_environment({"core.excludesFile": os.devnull})
    settings["GIT_LITERAL_PATHSPECS"] = "0"  # check-ignore takes no other
    try:
        words = ("check-ignore", "--no-index", "--stdin", "-z")
        answer = git.run(*words, input=names, work_tree=top, env=settings)
    except GitError:
        return set()  # none is ignored, or git failed
    return {name.removeprefix("./").removesuffix("/x") for name in os.fsdecode(answer).split("\0")}


def dependencies(
    folders: Sequence[EnvironmentFolder], tops: Sequence[Path], tracked: Collection[str]
) -> Dependencies:
    """`folders`, with the folders of the tree that Python must import from. `tops` are the paths that editable installs
    of the repository name: the checkout, or the tree that `setup:` ran in."""
    known = {".", *folders_of(tracked)}
    packages = {one["file"]: one["folder"] or "." for one in map(PACKAGE.fullmatch, tracked) if one}
    import_from: dict[str, None] = {}
    copies: dict[str, None] = {}
    environments = (one.source for one in folders if one.programs == "bin")
    for site in (one for top in environments for one in sorted(top.glob("lib/python3*/site-packages"))):
        if os.path.realpath(site) != str(site):
            continue
        for file, folder in packages.items():
            if (site / file).is_file() and os.path.realpath(site / file) == str(site / file):
                copies[folder] = None
        for name, text in hooks(site):
            added = list(leads(site, name, text, tops))
            if added and known.issuperset(added):
                import_from |= dict.fromkeys(added)
    return Dependencies(tuple(folders), tuple(import_from), tuple(copies))


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
        open(os.open("exclude", TO_CREATE, 0o644, dir_fd=at), "w") as file,
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
    with _opened(tree, f"{folder.path}/{STORE}" if folder.is_node and moves else folder.path, make=True):
        pass  # no part of its path is a link
    for path, target in _of_node(folder, moves).items() if folder.is_node else ():
        above, _, name = path.rpartition("/")
        with suppress(OSError), _opened(tree, above, make=True) as parent:
            os.symlink(target, name, dir_fd=parent)


def _of_node(folder: EnvironmentFolder, moves: bool) -> dict[str, str]:
    """The links of a `node_modules`, by path in the tree. Scopes and `.bin` are folders of links themselves."""
    targets: dict[str, str] = {}
    for entry in entries_of(folder.source):
        name = entry.name
        if name in _CACHES:
            continue
        if name.startswith((".bin", "@")) and entry.is_dir(follow_symlinks=False):
            inner = [(f"{name}/{one.name}", one) for one in entries_of(entry)]
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


@contextmanager
def _opened(tree: Path, path: str, *, make: bool = False) -> Iterator[int]:
    """Yield a descriptor of a folder of `tree`; with `make` its missing parts are made. Raises `OSError` if a part of
    the path is a link or no folder."""
    here = os.open(tree, FOLDER)
    try:
        for name in filter(None, path.split("/")):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=here)
            inner = os.open(name, FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)

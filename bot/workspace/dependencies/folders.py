"""Find the folders of installed packages, tools and builds of a checkout.

The tree is not walked: candidates are beside known manifests, and one call of git tells which are ignored. A folder
that the repository does not have git ignore (a person's ignore file for all repositories does not count), and that
bears no mark of an environment, belongs to the repository's content and is not used. No link is followed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from bot.checkout.git import Git, GitError, clean_environment
from bot.ecosystems.registry import ecosystems
from bot.workspace.sandbox.confinement import EnvironmentFolder
from bot.workspace.sandbox.toolchains import needed_by, who_may_write

_ENVIRONMENTS = frozenset(name for one in ecosystems() for name in one.environments)
_LINKED = {one.linked: one.bins[0].rpartition("/")[2] for one in ecosystems() if one.linked}
"""Folders of packages, each with its folder of programs."""

_FOLDER_INSIDE = "x"
"""A name in a folder, which git is asked about instead of the folder: some environments have a `.gitignore` with
`*`."""


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
        for name in (
            path for one in ecosystems() for path in one.environments_outside(top, tracked, variables)
        ):
            real = Path(os.path.realpath(name))
            if os.path.isabs(name) and is_environment(real) and str(real) != os.path.realpath(sys.prefix):
                folders.append(_with_refusal(EnvironmentFolder(real, "", "bin"), variables))
                break
    if _with_python(folders):
        folders = [one for one in folders if not (one.unshown and is_environment(one.source))]
    # Submodules that the person has fetched. The commit has each as one path without content.
    for path in tracked if ".gitmodules" in tracked else ():
        folder = os.path.join(top, path)
        if os.path.isdir(folder) and os.path.realpath(folder) == folder and os.listdir(folder):
            folders.append(EnvironmentFolder(Path(folder), path))
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
    there = [path for path in _candidates(tracked, inside) if _is_there(top, path)]
    ignored = _ignored(git, top, [path for path in there if not _is_marked(top, path)])
    paths = [path for path in there if path in ignored or _is_marked(top, path)]
    environments = [path for path in paths if path.rpartition("/")[2] in _ENVIRONMENTS]
    active = os.path.relpath(source.get("VIRTUAL_ENV") or top, top)
    chosen = active if active in environments else next(iter(environments), None)
    programs = {chosen or "": "bin", **_LINKED}
    return tuple(EnvironmentFolder(top / path, path, programs.get(path, "")) for path in paths)


def _candidates(tracked: Iterable[str], inside: Collection[str]) -> list[str]:
    """The candidates from the root down, in the order of preference, without those that the commit has files in."""
    beside: dict[str, list[str]] = {}
    for one in ecosystems():
        for manifest, names in one.installed_beside.items():
            beside.setdefault(manifest, []).extend(names)
    places: dict[tuple[str, str], None] = {}
    for path in ("", *sorted(tracked, key=lambda one: one.count("/"))):
        folder, _, name = path.rpartition("/")
        places |= dict.fromkeys((folder, one) for one in beside.get(name, ()))
    paths = (f"{folder}/{name}" if folder else name for folder, name in places)
    return [path for path in paths if path not in inside and "\n" not in path]


def folders_of(tracked: Iterable[str]) -> set[str]:
    """Every tracked path and all its parent folders."""
    parents: set[str] = set()
    for path in tracked:
        while path and path not in parents:
            parents.add(path)
            path = path.rpartition("/")[0]
    return parents


def _is_there(top: Path, path: str) -> bool:
    folder = os.path.join(top, path)
    if not os.path.isdir(folder) or os.path.realpath(folder) != folder:
        return False
    return path.rpartition("/")[2] not in _ENVIRONMENTS or is_environment(folder)


def _is_marked(top: Path, path: str) -> bool:
    """Whether it is an environment whether git ignores it or not: the commit has no file in it."""
    return path.rpartition("/")[2] in _LINKED or is_environment(top / path)


def is_environment(folder: str | Path) -> bool:
    return any(one.is_environment(str(folder)) for one in ecosystems())


def _ignored(git: Git, top: Path, paths: list[str]) -> list[str]:
    """Those of `paths` whose content the repository has git ignore."""
    if not paths:
        return []
    names = b"".join(os.fsencode(f"./{path}/{_FOLDER_INSIDE}") + b"\0" for path in paths)
    settings = clean_environment({"core.excludesFile": os.devnull})
    settings["GIT_LITERAL_PATHSPECS"] = "0"  # check-ignore takes no other
    try:
        words = ("check-ignore", "--no-index", "--stdin", "-z")
        answer = git.run(*words, input=names, work_tree=top, env=settings)
    except GitError:
        return []  # none is ignored, or git failed
    ignored = {os.fsdecode(one) for one in answer.split(b"\0")}
    return [path for path in paths if f"./{path}/{_FOLDER_INSIDE}" in ignored]

"""Find the folders of a repository that are projects, by their files. Pure; texts of files are read only if needed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from posixpath import basename, dirname, join, normpath
from typing import Any

Read = Callable[[str], str | None]
"""Returns the text of a file at the commit, or `None` if there is none."""

CONSIDERED = 60
"""The most folders of each kind whose settings are read. A repository may have thousands."""

_VENDORED = frozenset({"node_modules", "vendor", "testdata", ".venv", "venv", "site-packages", ".git"})
_SECONDARY = re.compile(
    r"(?i)(?:^|[/_.-])(?:tests?|fixtures?|mocks?|examples?|samples?|templates?|e2e|bench\w*|docs?)(?:$|[/_.-])"
)
_STRING = r'("(?:[^"\\\n]|\\(?:.|\Z))*(?:"|(?=\n)|\Z))'  # it ends in any case, which keeps it linear
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST = 200_000


def folders_with(paths: Iterable[str], *names: str) -> list[str]:
    """Return the folders with one of the files `names`, the most important first; the root is empty. Vendored folders
    are left out."""
    folders = {dirname(path) for path in paths if path.rpartition("/")[2] in names}
    return sorted((folder for folder in folders if not _VENDORED & set(folder.split("/"))), key=_rank)


def is_in(path: str, folder: str) -> bool:
    """Whether `path` is in `folder` or is that folder."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def above(path: str) -> list[str]:
    """Return the parent folders of a path, the nearest first and the root last."""
    parents = []
    while path:
        path = dirname(path)
        parents.append(path)
    return parents


def topmost(folders: Iterable[str]) -> list[str]:
    """Return the folders that are in no other."""
    all_folders = list(folders)
    others = set(all_folders)
    return [folder for folder in all_folders if not others.intersection(above(folder))]


def nested(folder: str, folders: Iterable[str]) -> tuple[str, ...]:
    """Return the topmost of `folders` below `folder`."""
    return tuple(sorted(topmost(other for other in folders if other != folder and is_in(other, folder))))


def own_files(paths: Iterable[str], folder: str, apart: Collection[str]) -> list[str]:
    """Return the files of a project, relative to its folder."""
    start = len(folder) + 1 if folder else 0
    others = set(apart)
    return [
        path[start:]
        for path in paths
        if is_in(path, folder) and not (others and others.intersection(above(path)))
    ]


def cargo_workspaces(paths: Collection[str], read: Read) -> list[str]:
    """Return the folders of Rust packages and workspaces. A workspace includes its members."""
    folders: list[str] = []
    roots: dict[str, Mapping[str, Any]] = {}
    for folder in sorted(folders_with(paths, "Cargo.toml"), key=lambda folder: (len(above(folder)), folder)):
        if any(_is_member(folder, root, settings) for root, settings in roots.items()):
            continue
        folders.append(folder)
        if len(folders) <= CONSIDERED:
            workspace = _toml(read(join(folder, "Cargo.toml"))).get("workspace")
            if isinstance(workspace, dict):
                roots[folder] = workspace
    return sorted(folders, key=_rank)


def _is_member(folder: str, root: str, workspace: Mapping[str, Any]) -> bool:
    """Whether the folder is a member: any folder below the root that is not excluded, since cargo refuses others."""
    if folder == root or not is_in(folder, root):
        return False
    relative = folder[len(root) + 1 :] if root else folder
    excluded, member = (
        any(is_in(relative, normpath(entry)) for entry in _strings(workspace.get(key)))
        for key in ("exclude", "members")
    )
    return member or not excluded


def typescript_projects(paths: Collection[str], read: Read) -> list[tuple[str, str]]:
    """Return the folders of TypeScript projects, and the configuration file of each. Referenced projects are separate
    ones: `tsc --build` would write output."""
    names = set(paths)
    projects: dict[tuple[str, str], None] = {}
    for number, folder in enumerate(folders_with(paths, "tsconfig.json")):
        settings = _json(read(join(folder, "tsconfig.json"))) if number < CONSIDERED else {}
        referred = _references(folder, settings)
        if not _has_no_files(settings):
            projects[folder, "tsconfig.json"] = None
        projects.update(dict.fromkeys((dirname(path), basename(path)) for path in referred if path in names))
    return sorted(projects, key=lambda each: (_rank(each[0]), each[1]))


def _references(folder: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the referenced files. Referenced folders have a tsconfig.json of their own."""
    entries = settings.get("references")
    paths = (
        [entry.get("path") for entry in entries if isinstance(entry, dict)]
        if isinstance(entries, list)
        else []
    )
    return [
        normpath(join(folder, path)) for path in paths if isinstance(path, str) and path.endswith(".json")
    ]


def _has_no_files(settings: Mapping[str, Any]) -> bool:
    """Whether it only references other projects, or is only extended."""
    return settings.get("files") == [] and not settings.get("include")


def _json(text: str | None) -> Mapping[str, Any]:
    """Parse JSON with comments and trailing commas, as TypeScript does."""
    plain = _COMMENT.sub(lambda match: match[1] or " ", (text or "")[:_LARGEST])
    try:
        value = json.loads(_COMMA.sub(lambda match: match[1] or " ", plain))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _toml(text: str | None) -> Mapping[str, Any]:
    try:
        return tomllib.loads((text or "")[:_LARGEST])
    except (ValueError, RecursionError):
        return {}


def _strings(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _rank(folder: str) -> tuple[bool, int, str]:
    return (bool(_SECONDARY.search(folder)), len(above(folder)), folder)

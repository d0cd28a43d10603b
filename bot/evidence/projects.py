"""Which folders of a repository are projects of their own, by the files that make them one. Pure; the files' texts are
asked for only where they decide."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from posixpath import basename, dirname, join, normpath
from typing import Any

Read = Callable[[str], str | None]
"""The text of a file at the commit that is looked at, or `None` where there is none."""

CONSIDERED = 60
"""Folders whose settings are read, of each kind; a repository may have thousands."""

_NOT_ITS_OWN = frozenset({"node_modules", "vendor", "testdata", ".venv", "venv", "site-packages", ".git"})
_LAST = re.compile(
    r"(?i)(?:^|[/_.-])(?:tests?|fixtures?|mocks?|examples?|samples?|templates?|e2e|bench\w*|docs?)(?:$|[/_.-])"
)
_STRING = r'("(?:[^"\\\n]|\\(?:.|\Z))*(?:"|(?=\n)|\Z))'  # it ends in any case, which keeps it linear
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST = 200_000


def folders_with(paths: Iterable[str], *names: str) -> list[str]:
    """Those in which one of `names` stands, the ones to begin with first; the top is the empty one. What others made,
    and what tests only use, is left out."""
    found = {dirname(path) for path in paths if path.rpartition("/")[2] in names}
    return sorted((folder for folder in found if not _NOT_ITS_OWN & set(folder.split("/"))), key=_rank)


def is_in(path: str, folder: str) -> bool:
    """Also the folder itself."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def above(path: str) -> list[str]:
    """The folders that a path is in, the nearest first and the top last."""
    found = []
    while path:
        path = dirname(path)
        found.append(path)
    return found


def topmost(folders: Iterable[str]) -> list[str]:
    """Those that are in no other."""
    found = list(folders)
    others = set(found)
    return [folder for folder in found if not others.intersection(above(folder))]


def nested(folder: str, folders: Iterable[str]) -> tuple[str, ...]:
    """Those within `folder`, without those that are within others of them."""
    return tuple(sorted(topmost(other for other in folders if other != folder and is_in(other, folder))))


def own_files(paths: Iterable[str], folder: str, apart: Collection[str]) -> list[str]:
    """Those of a project, relative to its folder."""
    start = len(folder) + 1 if folder else 0
    others = set(apart)
    return [
        path[start:]
        for path in paths
        if is_in(path, folder) and not (others and others.intersection(above(path)))
    ]


def workspaces(paths: Collection[str], read: Read) -> list[str]:
    """Of Rust: a package, or a workspace, whose members are looked at with it."""
    found: list[str] = []
    roots: dict[str, Mapping[str, Any]] = {}
    for folder in sorted(folders_with(paths, "Cargo.toml"), key=lambda folder: (len(above(folder)), folder)):
        if any(_is_member(folder, root, settings) for root, settings in roots.items()):
            continue
        found.append(folder)
        if len(found) <= CONSIDERED:
            workspace = _toml(read(join(folder, "Cargo.toml"))).get("workspace")
            if isinstance(workspace, dict):
                roots[folder] = workspace
    return sorted(found, key=_rank)


def _is_member(folder: str, root: str, workspace: Mapping[str, Any]) -> bool:
    """What is below the root is one, unless it is left out: cargo itself refuses anything else there, and knows no
    patterns here."""
    if folder == root or not is_in(folder, root):
        return False
    place = folder[len(root) + 1 :] if root else folder
    left_out, taken = (
        any(is_in(place, normpath(entry)) for entry in _strings(workspace.get(key)))
        for key in ("exclude", "members")
    )
    return taken or not left_out


def typescripts(paths: Collection[str], read: Read) -> list[tuple[str, str]]:
    """Of TypeScript: the folders, and in each the file that sets it up. Those that one refers to are looked at by
    themselves: `tsc --build` writes what it makes, and where it must not leaves out all that refer to another."""
    names = set(paths)
    found: dict[tuple[str, str], None] = {}
    for number, folder in enumerate(folders_with(paths, "tsconfig.json")):
        settings = _json(read(join(folder, "tsconfig.json"))) if number < CONSIDERED else {}
        referred = _references(folder, settings)
        if not _has_no_files(settings):
            found[folder, "tsconfig.json"] = None
        found.update(dict.fromkeys((dirname(path), basename(path)) for path in referred if path in names))
    return sorted(found, key=lambda each: (_rank(each[0]), each[1]))


def _references(folder: str, settings: Mapping[str, Any]) -> list[str]:
    """The files that it refers to by their names; where it names a folder, that is found by itself."""
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
    """One that only refers to others, or that others extend."""
    return settings.get("files") == [] and not settings.get("include")


def _json(text: str | None) -> Mapping[str, Any]:
    """As TypeScript reads it: with comments, and commas at the end."""
    plain = _COMMENT.sub(lambda found: found[1] or " ", (text or "")[:_LARGEST])
    try:
        value = json.loads(_COMMA.sub(lambda found: found[1] or " ", plain))
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
    return (bool(_LAST.search(folder)), len(above(folder)), folder)

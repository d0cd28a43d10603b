"""`Checker`: a program that checks a whole project, and how the projects of a commit are found. Pure; texts of files
are read only if needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, join
from typing import Any

Read = Callable[[str], str | None]
"""Returns the text of a file at the commit, or `None` if there is none."""

CONSIDERED = 60
"""The most folders of each kind whose settings are read. A repository may have thousands."""

_VENDORED = frozenset(["node_modules", "vendor", "testdata", ".venv", "venv", "site-packages", ".git"])
_SECONDARY = re.compile(
    r"(?i)(?:^|[/_.-])(?:tests?|fixtures?|mocks?|examples?|samples?|templates?|e2e|bench\w*|docs?)(?:$|[/_.-])"
)
# Folders are excluded by patterns or comma-separated lists: other characters could exclude more.
_PLAIN = re.compile(r"[\w./@+ -]+")
_MOST_FILES = 2_000
_MOST_BYTES = 500_000
ANY = ".*"
"""For compilers, whose errors depend on how far they get."""

OURS = ("ours", "project", "path")
PROJECT = ("project",)
PATH = ("path",)
IGNORED = ("**/.gitignore", "**/.ignore")


def table(data: Any, *keys: str) -> dict[str, Any]:
    """Return the table at `keys`, an empty one if the value is no table."""
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return dict(data) if isinstance(data, Mapping) else {}


class Tree:
    """The files of a commit."""

    def __init__(self, paths: Collection[str], read: Read) -> None:
        self.paths = sorted(paths)
        self.names = frozenset(paths)
        self._read = read

    def text(self, path: str) -> str | None:
        return self._read(path) if path in self.names else None

    def folders_with(self, *names: str) -> list[str]:
        """Return the folders with one of the files `names`, the most important first; the root is empty. Vendored
        folders are left out."""
        folders = {dirname(path) for path in self.paths if path.rpartition("/")[2] in names}
        return ranked(folder for folder in folders if not _VENDORED & set(folder.split("/")))


def ranked(folders: Iterable[str]) -> list[str]:
    return sorted(folders, key=lambda folder: (bool(_SECONDARY.search(folder)), len(above(folder)), folder))


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


def everywhere(checker: Checker, tree: Tree) -> Iterator[Checker]:
    """Yield the checker once, if there is a file for it."""
    if any(path.endswith(checker.suffixes) for path in tree.paths):
        yield checker


def beside(checker: Checker, folders: Sequence[str]) -> Iterator[Checker]:
    """Yield the checker for each of `folders`, without those inside."""
    for number, folder in enumerate(folders):
        inside = nested(folder, folders) if number < CONSIDERED else ()
        yield replace(checker, folder=folder, excluded_folders=inside)


def topmost_with(*names: str) -> Callable[[Checker, Tree], Iterator[Checker]]:
    """For a checker that finds the settings of nested folders by itself."""
    return lambda checker, tree: beside(checker, topmost(tree.folders_with(*names)))


def each_with(*names: str) -> Callable[[Checker, Tree], Iterator[Checker]]:
    return lambda checker, tree: beside(checker, tree.folders_with(*names))


@dataclass(frozen=True, slots=True)
class Checker:
    """A program that checks a project, and how to run it.

    `program` is searched in the order of `where` by `bot/toolhost/tools/problems_of.py`. `form` names the format of its
    output, `exits` the exit codes of a complete run, `unit` the unit of its columns if not code points. With `suffixes`
    it receives the files that end so. `settings` are the files that configure it, or say what it excludes; with `**/`
    in every folder. An error whose code matches `hides` hides others.
    `display_command` is the command for people.

    `projects` yields its projects of a commit, the most important first, which are defined by a `manifest` if it has
    one. `known_as` are the names in settings, its own if there are none. It runs `always`, or only where the project
    uses it.

    `folder` is the project, empty for the repository. `file` is its configuration if that is not the usual one, and
    replaces the last argument. `excluded_folders` are nested projects, which the option `exclude_option` excludes."""

    name: str
    program: str
    arguments: tuple[str, ...]
    form: str
    where: tuple[str, ...] = ("project", "path")
    version: tuple[str, ...] = ("--version",)
    exits: tuple[int, ...] = (0, 1)
    unit: str = ""
    suffixes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    together: bool = False
    hides: str = ""
    display_command: tuple[str, ...] = ()
    exclude_option: str = ""
    projects: Callable[[Checker, Tree], Iterator[Checker]] = everywhere
    manifest: str = ""
    known_as: tuple[str, ...] = ()
    always: bool = False
    folder: str = ""
    file: str = ""
    excluded_folders: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.name, self.project)

    @property
    def project(self) -> str:
        """The project, relative to the repository: its folder, or the file in it that makes it one."""
        return join(self.folder, self.file) if self.file else self.folder

    @property
    def full_arguments(self) -> tuple[str, ...]:
        """All arguments: with the configuration file and the excluded folders."""
        arguments = (*self.arguments[:-1], self.file) if self.file else self.arguments
        start = len(self.folder) + 1 if self.folder else 0
        excluded = filter(_PLAIN.fullmatch, self.excluded_folders if self.exclude_option else ())
        return (*arguments, *(self.exclude_option.format(folder[start:]) for folder in excluded))

    @property
    def command(self) -> str:
        """The command for people."""
        words = self.display_command or (self.program, *self.arguments)
        return " ".join([*words, *(f"*{suffix}" for suffix in self.suffixes)])

    def files_of(self, paths: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        """Return those of `paths` that it receives as arguments, relative to its folder, and whether these are all."""
        named = [path for path in paths if self.suffixes and path.endswith(self.suffixes)]
        wanted = sorted(own_files(named, self.folder, self.excluded_folders))
        taken: list[str] = []
        size = 0
        for path in wanted:
            size += len(path.encode("utf-8", "surrogateescape")) + 3
            if len(taken) == _MOST_FILES or size > _MOST_BYTES:
                return tuple(taken), False
            taken.append(path)
        return tuple(taken), True

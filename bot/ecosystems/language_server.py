"""`Server`: a language server, and how it is started at a place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bot.ecosystems.checker import has_settings, uses_checker

_ENVIRONMENTS = (".venv", "venv", "env")
_SMALL_FILE = 1 << 20


class Place(NamedTuple):
    """`folder` is that of the file, or of the project. `environment` is that of commands, `programs` are bundled ones
    by name, `bins` the folders of a project with installed programs. `configured` is the policy's command, which stands
    for every program."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    programs: Mapping[str, str]
    bins: tuple[str, ...] = ()
    configured: str = ""

    def bundled(self, name: str) -> str:
        """The program that came with ours, empty for none."""
        return self.configured or self.programs.get(name, "")

    def in_project(self, name: str) -> str:
        """The nearest one installed in a folder of the project, else in the active environment."""
        paths = [folder / place / name for folder in self._folders() for place in self.bins]
        paths += [folder / "bin" / name for folder in self.environments()]
        return self.configured or _first_program(paths)

    def on_path(self, name: str) -> str:
        paths = [Path(folder, name) for folder in self.environment.get("PATH", "").split(":") if folder]
        return self.configured or _first_program(paths)

    def above(self, *names: str, top: bool = False) -> Path | None:
        """The nearest of these files, or the topmost."""
        paths = [f / name for f in self._folders() for name in names if os.path.isfile(f / name)]
        return paths[-1 if top else 0] if paths else None

    def environments(self) -> Iterator[Path]:
        """Virtual environments, the nearest first."""
        folders = (folder / name for folder in self._folders() for name in _ENVIRONMENTS)
        yield from (folder for folder in folders if os.path.isfile(folder / "pyvenv.cfg"))
        if active := self.environment.get("VIRTUAL_ENV", ""):
            yield Path(active)

    def uses(self, checker: str) -> bool:
        """Whether the project has settings for a checker or names it as a tool."""
        return uses_checker(checker, self._names(), self._text)

    def has_settings(self, checker: str) -> bool:
        return any(has_settings(checker, folder, self._text) for folder in self._names())

    def _folders(self) -> list[Path]:
        """The folder of the file and those above it, up to the root."""
        folders = (self.folder, *self.folder.parents)
        return [one for one in folders if one.is_relative_to(self.root)] or [self.root]

    def _names(self) -> Iterator[str]:
        return (str(folder.relative_to(self.root)) for folder in self._folders())

    def _text(self, path: str) -> str | None:
        try:
            with open(self.root / path, "rb") as file:
                return file.read(_SMALL_FILE).decode("utf-8", "replace")
        except OSError:
            return None


def _first_program(paths: list[Path]) -> str:
    return next((str(path) for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), "")


class Launch(NamedTuple):
    """The command line of a language server. `options` go with `initialize`; `runs` are files of the project that it
    executes; `root` is the project's folder, the repository's where it is None; `variables` are added to its
    environment."""

    argv: tuple[str, ...]
    options: object = None
    runs: tuple[str, ...] = ()
    root: Path | None = None
    variables: Mapping[str, str] = {}


Find = Callable[[Place], "Launch | str"]
"""Return how the server is started at a place, else a clause why not; empty if the project does not use it."""


class Server(NamedTuple):
    """A language server. `files` maps suffixes to language ids of the protocol. In `variables` of its environment
    `{tmp}` is a folder outside the tree. It is refused where a rule denies one of `commands`, its own if there are
    none. Problems with one of the codes `missing` may only mean that a package is not installed: they are not news."""

    name: str
    files: Mapping[str, str]
    find: Find
    variables: Mapping[str, str] = {}
    commands: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()


def server_beside(
    markers: Sequence[str],
    missing: str,
    name: str,
    *arguments: str,
    own: bool = True,
    top: bool = False,
    runs: Sequence[str] = (),
    options: object = None,
) -> Find:
    """Return the `find` of a server for projects with one of the files `markers`, the best first; `missing` says why
    there is none without. Its root is the folder of the nearest such file, or the topmost, `{root}` in its arguments.
    `own`: it may be the project's own program. `runs` are files that it executes."""

    def find(place: Place) -> Launch | str:
        marker = next((path for one in markers if (path := place.above(one, top=top))), None)
        if marker is None:
            return missing
        program = (place.in_project(name) if own else "") or place.on_path(name)
        if not program:
            return "it is not installed"
        words = (argument.replace("{root}", str(marker.parent)) for argument in arguments)
        executed = tuple(str(path) for one in runs if (path := place.above(one)))
        return Launch((program, *words), options, executed, marker.parent)

    return find

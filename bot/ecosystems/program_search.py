"""Where a language server or a checker is searched: a folder and those above it, within the tree."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from bot.ecosystems.checker import OURS, Names, has_settings, uses_checker

_ENVIRONMENTS = (".venv", "venv", "env")


class Place(NamedTuple):
    """`folder` is that of the file, or of the project. `environment` is that of commands, `programs` are bundled ones
    by name, `bins` the folders of a project with installed programs. `configured`, the policy's command, stands for
    all."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    programs: Mapping[str, str]
    bins: Names = ()
    configured: str = ""

    def program(self, name: str, where: Collection[str] = OURS) -> str:
        """The first program of that name, empty for none: `ours` came with ours; one of the `project` is the nearest
        installed in a folder of it, else in the active environment; `path` is that of commands."""
        if found := self.configured or ("ours" in where and self.programs.get(name)):
            return str(found)
        paths: list[Path] = []
        if "project" in where:
            paths += [folder / place / name for folder in self._folders() for place in self.bins]
            paths += [folder / "bin" / name for folder in self.environments()]
        if "path" in where:
            paths += [Path(one, name) for one in self.environment.get("PATH", "").split(":") if one]
        return next((str(path) for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), "")

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
                return file.read(1 << 20).decode("utf-8", "replace")
        except OSError:
            return None

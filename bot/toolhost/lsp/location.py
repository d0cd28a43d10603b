"""Find a server's program for a file: in the tree, the environment, among ours, or as the policy names it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os.path import isfile  # that of `Path` raises where a folder may not be entered
from pathlib import Path

from bot.contracts.checkers import has_settings, uses_checker
from bot.ecosystems.record import Launch
from bot.ecosystems.registry import ecosystems

_ENVIRONMENTS = (".venv", "venv")
_SMALL_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Location:
    """`bot.ecosystems.record.Place` on disk. `programs` are bundled ones, by name; `folder` is that of the file."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    programs: Mapping[str, str]
    configured: str = ""

    def bundled(self, name: str) -> str:
        return self.configured or self.programs.get(name, "")

    def in_project(self, name: str) -> str:
        """The nearest one installed in a folder of the project, else in the active environment."""
        bins = [place for one in ecosystems() for place in one.bins]
        modules = (folder / place / name for folder in self._folders() for place in bins)
        installed = (folder / "bin" / name for folder in self.environments())
        return self.configured or next((str(p) for ps in (modules, installed) for p in ps if _runs(p)), "")

    def on_path(self, name: str) -> str:
        paths = (Path(folder, name) for folder in self.environment.get("PATH", "").split(":") if folder)
        return self.configured or next((str(path) for path in paths if _runs(path)), "")

    def above(self, *names: str, top: bool = False) -> Path | None:
        found = [f / name for f in self._folders() for name in names if isfile(f / name)]
        return found[-1 if top else 0] if found else None

    def environments(self) -> Iterator[Path]:
        folders = (folder / name for folder in self._folders() for name in _ENVIRONMENTS)
        yield from (folder for folder in folders if isfile(folder / "pyvenv.cfg"))
        if active := self.environment.get("VIRTUAL_ENV", ""):
            yield Path(active)

    def uses(self, checker: str) -> bool:
        """By the same rule as at the end of the run."""
        return uses_checker(checker, self._names(), self._text)

    def has_settings(self, checker: str) -> bool:
        return any(has_settings(checker, folder, self._text) for folder in self._names())

    def _folders(self) -> Iterator[Path]:
        folder = self.folder if self.folder.is_relative_to(self.root) else self.root
        yield folder
        while folder != self.root:
            folder = folder.parent
            yield folder

    def _names(self) -> Iterator[str]:
        return (str(folder.relative_to(self.root)) for folder in self._folders())

    def _text(self, path: str) -> str | None:
        try:
            with open(self.root / path, "rb") as file:
                return file.read(_SMALL_FILE).decode("utf-8", "replace")
        except OSError:
            return None


def replace_command(command: str, usual: Launch | str) -> Launch | str:
    """The command of the policy with the options of the usual one."""
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        return f"its command in the policy cannot be read: {error}"
    if not argv:
        return "its command in the policy is empty"
    return replace(usual if isinstance(usual, Launch) else Launch(()), argv=argv)


def _runs(path: Path) -> bool:
    return os.access(path, os.X_OK) and isfile(path)

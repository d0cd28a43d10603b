"""The folder outside the work tree that loaded skills are copied to, to be read and run there, never written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bot.contracts.errors import AgentError
from bot.skills.discover import MAX_BYTES
from bot.skills.find import Held
from bot.skills.rules import MAX_DOCUMENT


class ShelfError(AgentError):
    """A skill's files could not be copied, or are gone."""


class Shelf:
    """`folder` is ours, `shown` is where commands and tools see it. A skill is copied when it is first loaded."""

    def __init__(self, folder: Path, shown: str) -> None:
        self._folder = folder
        self._shown = shown
        self._copied: set[str] = set()
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    def shown(self, name: str) -> str:
        """Where the skill's folder is for those inside."""
        return f"{self._shown}/{name}"

    def document(self, held: Held) -> bytes:
        """The SKILL.md as it is on the shelf, the skill copied there if it was not. Raises `ShelfError`."""
        name = held.skill.name
        try:
            if name not in self._copied:
                self._copy(held)
                self._copied.add(name)
            with open(self._folder / name / held.skill.document, "rb") as file:
                return file.read(MAX_DOCUMENT)
        except OSError as error:
            raise ShelfError(f"the skill {name} cannot be copied: {error.strerror}") from error

    def _copy(self, held: Held) -> None:
        """Whole or not at all: a folder of that name is there when all its files are."""
        skill = held.skill
        files = {file.path: file.executable for file in skill.files} | {skill.document: False}
        paths = {f"{skill.folder}/{path}": path for path in files}
        contents = held.place.read(paths, MAX_BYTES)
        if missing := paths.keys() - contents.keys():
            raise ShelfError(f"{min(missing)!a} of the skill {skill.name} cannot be read")
        begun = self._folder / f".{skill.name}"
        for old in (begun, self._folder / skill.name):
            shutil.rmtree(old, ignore_errors=True)
        begun.mkdir()
        for found, data in contents.items():
            path = paths[found]
            file = begun / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(0o555 if files[path] else 0o444)
        for folder, _, _ in os.walk(begun):
            Path(folder).chmod(0o555)
        begun.rename(self._folder / skill.name)
